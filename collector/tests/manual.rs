//! The manual page is the table of options: `UPDATE_EXPECT=1` writes it anew.

use std::path::Path;

use expect_test::expect_file;

#[test]
fn the_manual_page_is_what_the_options_say() {
    let mut page = Vec::new();
    clap_mangen::Man::new(recording::cli::command().version(env!("CARGO_PKG_VERSION")))
        .title("COLLECT")
        .section("1")
        .manual("Parallax")
        .source("Parallax")
        .render(&mut page)
        .expect("writing to memory does not fail");
    let page = String::from_utf8(page).expect("a manual page is text");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/man/collect.1");
    expect_file![path].assert_eq(&page);
}
