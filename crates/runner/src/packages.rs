//! The version of a program by the metadata of its package: of npm, Python, Cargo or rustup.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use holdstead_agents::regular::{self, Links};
use serde_json::Value;

/// The longest metadata that is read: the manifest of a Rust toolchain has about a megabyte.
const MAX: u64 = 4 * 1024 * 1024;

pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The file or folder that says so.
    pub(crate) said_in: PathBuf,
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(regular::read(path, Links::Follow, MAX, |_| true).ok()?).ok()
}

/// A program of a package of npm: `package.json` above it says which.
pub(crate) fn of_node(real: &Path) -> Option<Package> {
    let is_script =
        real.extension().is_some_and(|ending| ["js", "cjs", "mjs"].iter().any(|js| ending == *js));
    if !is_script && !real.components().any(|part| part.as_os_str() == "node_modules") {
        return None;
    }
    // Not above `node_modules`: that would be the project itself.
    let packages = real.ancestors().skip(1).take_while(|folder| !folder.ends_with("node_modules"));
    packages.into_iter().find_map(|folder| {
        let said_in = folder.join("package.json");
        let json: Value = serde_json::from_str(&text(&said_in)?).ok()?;
        let field = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Package { name: field("name")?, version: field("version")?, said_in })
    })
}

/// A program in the `bin` of a Python, or a module of it: a folder with metadata is named after both.
pub(crate) fn of_python(program: &Path, name: &str) -> Option<Package> {
    let library = program.parent()?.parent()?.join("lib");
    let pythons = library.read_dir().ok()?.flatten().map(|entry| entry.path());
    let pythons = pythons.filter(|path| named(path).is_some_and(|name| name.starts_with("python3")));
    let packages =
        pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)));
    let mut found: Option<Package> = None;
    for entry in packages.filter_map(|packages| packages.read_dir().ok()).flatten().flatten() {
        let Some(package) = python_package(&entry.path(), name) else { continue };
        // Of two versions it is not known which one runs.
        if found.is_some_and(|other| other.version != package.version) {
            return None;
        }
        found = Some(package);
    }
    found
}

/// `pytest-7.4.0.dist-info`
fn python_package(said_in: &Path, wanted: &str) -> Option<Package> {
    let text = named(said_in)?;
    let text = text.strip_suffix(".dist-info").or_else(|| text.strip_suffix(".egg-info"))?;
    let (name, version) = text.split_once('-')?;
    let same = |name: &str| name.to_ascii_lowercase().replace('_', "-");
    (same(name) == same(wanted)).then(|| Package {
        name: same(name),
        version: version.split('-').next().unwrap_or(version).to_owned(),
        said_in: said_in.to_owned(),
    })
}

fn named(path: &Path) -> Option<&str> {
    path.file_name().and_then(OsStr::to_str)
}

/// A program that Cargo installed, or one of a toolchain of rustup.
pub(crate) fn of_rust(found: &Path, real: &Path, folder: &Path, home: Option<&Path>) -> Option<Package> {
    match named(real)? {
        "rustup" => of_toolchain(named(found)?, folder, home?),
        _ => of_crate(found),
    }
}

fn of_crate(found: &Path) -> Option<Package> {
    let said_in = found.parent()?.parent()?.join(".crates2.json");
    let json: Value = serde_json::from_str(&text(&said_in)?).ok()?;
    let program = named(found)?;
    let has = |install: &Value| {
        install["bins"].as_array().is_some_and(|bins| bins.iter().any(|bin| bin.as_str() == Some(program)))
    };
    let (id, _) = json["installs"].as_object()?.iter().find(|(_, install)| has(install))?;
    let mut words = id.split(' ');
    Some(Package { name: words.next()?.to_owned(), version: words.next()?.to_owned(), said_in })
}

/// The default toolchain, unless something names another one for the folder.
fn of_toolchain(program: &str, folder: &Path, home: &Path) -> Option<Package> {
    let files = ["rust-toolchain", "rust-toolchain.toml"];
    if folder.ancestors().any(|above| files.iter().any(|file| above.join(file).exists())) {
        return None;
    }
    let rustup = home.join(".rustup");
    let settings = text(&rustup.join("settings.toml"))?;
    let overrides = settings.lines().skip_while(|line| line.trim() != "[overrides]").skip(1);
    if overrides.take_while(|line| !line.starts_with('[')).any(|line| line.contains('=')) {
        return None;
    }
    let toolchain = settings.lines().find_map(|line| quoted(line.strip_prefix("default_toolchain")?))?;
    let library = rustup.join("toolchains").join(toolchain).join("lib/rustlib");
    let said_in = library.join("multirust-channel-manifest.toml");
    let manifest = text(&said_in)?;
    let (_, of_package) = manifest.split_once(&format!("[pkg.{program}]"))?;
    let version = quoted(of_package.lines().find(|line| line.starts_with("version"))?)?;
    let version = version.split(' ').next().unwrap_or_default().to_owned();
    Some(Package { name: program.to_owned(), version, said_in })
}

fn quoted(line: &str) -> Option<&str> {
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(top: &Path, path: &str, text: &str) -> PathBuf {
        let path = top.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn told(package: Option<Package>) -> Option<String> {
        package.map(|package| format!("{} {}", package.name, package.version))
    }

    #[test]
    fn packages_say_their_versions() {
        let top = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| write(top.path(), path, text);
        write("node_modules/eslint/package.json", r#"{"name":"eslint","version":"9.1.0"}"#);
        write("node_modules/eslint/bin/package.json", r#"{"type":"module"}"#);
        let eslint = write("node_modules/eslint/bin/eslint.js", "");
        assert_eq!(told(of_node(&eslint)).as_deref(), Some("eslint 9.1.0"));
        let git = write("bin/git", "");
        write("package.json", r#"{"name":"git","version":"2.39.5"}"#);
        assert_eq!(told(of_node(&git)), None, "no program of npm");
        let shim = write("node_modules/.bin/jest", "#!/bin/sh");
        assert_eq!(told(of_node(&shim)), None, "pnpm's scripts tell nothing");

        let pytest = write(".venv/bin/pytest", "");
        write(".venv/lib/python3.11/site-packages/pytest-7.4.0.dist-info/METADATA", "");
        write(".venv/lib/python3.11/site-packages/pytest_cov-4.0.dist-info/METADATA", "");
        assert_eq!(told(of_python(&pytest, "pytest")).as_deref(), Some("pytest 7.4.0"));
        assert_eq!(told(of_python(&pytest, "mypy")), None);
        write(".venv/lib/python3.12/site-packages/pytest-8.0.0.dist-info/METADATA", "");
        assert_eq!(told(of_python(&pytest, "pytest")), None, "one of two");

        let installs = r#"{"installs":{"ripgrep 14.1.0 (registry)":{"bins":["rg"]}}}"#;
        write(".cargo/.crates2.json", installs);
        let rg = write(".cargo/bin/rg", "");
        assert_eq!(told(of_rust(&rg, &rg, top.path(), None)).as_deref(), Some("ripgrep 14.1.0"));

        let (cargo, rustup) = (write(".cargo/bin/cargo", ""), write(".cargo/bin/rustup", ""));
        write(".rustup/settings.toml", "default_toolchain = \"stable-x\"\n\n[overrides]\n");
        let manifest = "[pkg.cargo]\nversion = \"1.95.0 (abc)\"\n";
        write(".rustup/toolchains/stable-x/lib/rustlib/multirust-channel-manifest.toml", manifest);
        let of_cargo = || told(of_rust(&cargo, &rustup, &top.path().join("project"), Some(top.path())));
        assert_eq!(of_cargo().as_deref(), Some("cargo 1.95.0"));
        write("rust-toolchain.toml", "");
        assert_eq!(of_cargo(), None, "another toolchain for the folder");
    }
}
