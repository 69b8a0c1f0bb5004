//! Lists the files of the web UI for `include_bytes!`, if it was built. Without it one page says how to get it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Asked for when this runs: crates that were packaged are unpacked elsewhere than where this was compiled.
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    // A package carries it; in the repository `just web` builds it.
    let packaged = here.join("ui");
    let (watched, root) = if packaged.is_dir() {
        (packaged.clone(), packaged)
    } else {
        let dist = here.join("../../web/dist");
        (dist.clone(), dist.join("ui"))
    };
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", watched.display());
    let mut files = Vec::new();
    if root.join("index.html").is_file() {
        collect(&root, &mut files)?;
        files.sort();
    }
    let mut code = "const WEB_UI: &[(&str, &[u8])] = &[\n".to_owned();
    for file in &files {
        let file = file.canonicalize()?;
        let name = file.strip_prefix(root.canonicalize()?)?.to_string_lossy().replace('\\', "/");
        writeln!(code, "    ({name:?}, include_bytes!({file:?})),")?;
    }
    code.push_str("];\n");
    fs::write(Path::new(&std::env::var("OUT_DIR")?).join("web_ui.rs"), code)?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
