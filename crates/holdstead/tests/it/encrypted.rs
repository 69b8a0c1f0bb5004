//! A gateway behind something that speaks TLS, as a team has it.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::cli::{Gateway, holdstead, text};

/// An authority of one's own, and what it says of `localhost`.
struct Certificates {
    folder: TempDir,
}

impl Certificates {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        std::fs::write(folder.path().join("of"), "subjectAltName=DNS:localhost\n").expect("a file");
        for args in [
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -days 2 -keyout ca.key -out ca.pem",
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout key.pem -out request.pem",
            "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile of -out certificate.pem",
        ] {
            let made = Command::new("openssl").args(args.split(' ')).current_dir(folder.path()).output();
            let made = made.expect("openssl is installed");
            assert!(made.status.success(), "{}", text(&made.stderr));
        }
        Self { folder }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

/// Takes the encryption off what comes here and passes it on, until the runtime is dropped.
fn in_front_of(gateway: SocketAddr, listener: TcpListener, with: &Certificates) -> Runtime {
    let certificate = CertificateDer::from_pem_file(with.file("certificate.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(with.file("key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they fit");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let runtime = Runtime::new().expect("a runtime");
    runtime.spawn(async move {
        listener.set_nonblocking(true).expect("it waits for nobody");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // Whoever does not trust it goes.
                let Ok(mut encrypted) = acceptor.accept(stream).await else { return };
                let mut plain = TcpStream::connect(gateway).await.expect("the gateway is there");
                drop(tokio::io::copy_bidirectional(&mut encrypted, &mut plain).await);
            });
        }
    });
    runtime
}

struct Team {
    gateway: Gateway,
    certificates: Certificates,
    url: String,
    _front: Runtime,
}

impl Team {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let host = format!("localhost:{}", listener.local_addr().expect("an address").port());
        let dir = TempDir::new().expect("a folder");
        std::fs::write(dir.path().join("config.toml"), format!("allowed_hosts = [{host:?}]\n"))
            .expect("written");
        let gateway = Gateway::start_in(dir);
        let link = gateway.json(&["open", "--no-open"])["link"].as_str().expect("a link").to_owned();
        let address = link.trim_start_matches("http://").split('/').next().expect("an address");
        let certificates = Certificates::new();
        let front = in_front_of(address.parse().expect("an address"), listener, &certificates);
        Self { gateway, certificates, url: format!("https://{host}"), _front: front }
    }

    fn token(&self, role: &str) -> String {
        let made = self.gateway.json(&["token", "--role", role, "--name", role]);
        made["token"].as_str().expect("a token").to_owned()
    }

    /// Somebody on another machine, which trusts this authority.
    fn elsewhere(&self, home: &Path, token: &str, trusts: Option<&Path>) -> Command {
        let mut command = holdstead(home);
        command.env("HOLDSTEAD_URL", &self.url).env("HOLDSTEAD_TOKEN", token).stdin(Stdio::null());
        command.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", trusts.unwrap_or(Path::new("/dev/null")));
        command
    }
}

fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_gateway_behind_tls_is_asked_over_https_by_those_who_trust_it() {
    let team = Team::new();
    let (home, token) = (TempDir::new().expect("a folder"), team.token("person"));
    let authority = team.certificates.file("ca.pem");
    let mut inbox = team.elsewhere(home.path(), &token, Some(&authority));
    let output = inbox.arg("inbox").output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("Nothing waits for you."), "{}", said(&output));

    let mut inbox = team.elsewhere(home.path(), &token, None);
    let output = inbox.arg("inbox").output().expect("it runs");
    assert!(!output.status.success(), "whom nobody vouches for was told the token");
    assert!(said(&output).contains("SSL_CERT_FILE"), "{}", said(&output));
}

#[test]
fn a_machine_dials_in_over_tls() {
    let team = Team::new();
    let (home, token) = (TempDir::new().expect("a folder"), team.token("runner"));
    let authority = team.certificates.file("ca.pem");
    let mut runner = team.elsewhere(home.path(), &token, Some(&authority));
    let mut runner =
        runner.args(["runner", "--gateway", &team.url]).stdout(Stdio::piped()).spawn().expect("it starts");
    let lines = BufReader::new(runner.stdout.take().expect("its output")).lines();
    let connected = lines.map_while(Result::ok).take(3).any(|line| line.starts_with("Connected to https://"));
    let listed = team.gateway.json(&["runners"]);
    runner.kill().expect("it dies");
    runner.wait().expect("it is gone");
    assert!(connected, "it did not connect");
    assert!(listed.to_string().contains("\"name\":\"runner\""), "{listed}");
}
