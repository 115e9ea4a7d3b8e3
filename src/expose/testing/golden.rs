//! Comparison of whole outputs with the files under `tests/golden/`. `UPDATE_GOLDEN=1 cargo test` rewrites these files.

use std::path::Path;

/// Compares an output with the golden file of this name.
pub(crate) fn assert_matches(name: &str, output: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, output).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = golden.lines().zip(output.lines()).enumerate().find(|(_, (golden, output))| golden != output);
    if let Some((line, (golden, output))) = differs {
        panic!("{name}:{} differs; UPDATE_GOLDEN=1 rewrites it\n golden: {golden}\n output: {output}", line + 1);
    }
    assert!(golden == output, "{name} differs in length; UPDATE_GOLDEN=1 rewrites it");
}
