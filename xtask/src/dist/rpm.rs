//! The RPM package, by rpm's own program, as the Debian package is by dpkg's.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::{DESCRIPTION, LICENCE, SUMMARY, VERSION, settle};
use crate::Outcome;
use crate::command::run;
use crate::floors::FLOOR_OF_PROGRAMS;
use crate::install::{self, Item, PACKAGE};

/// Makes the package.
pub(super) fn rpm(folder: &Path, items: &[Item], seconds: u32) -> Outcome<PathBuf> {
    // Not below `folder`, whose path may have a space: rpmbuild removes its folders by unquoted paths.
    let work = tempfile::tempdir_in("/var/tmp")
        .map_err(|e| format!("no folder can be made in /var/tmp: {e}"))?;
    let work = work.path();
    let stage = work.join("stage");
    install::lay_out(items, &stage.join("usr"), false)?;
    settle(&stage, seconds)?;
    let spec = work.join("parallax.spec");
    std::fs::write(&spec, specification(items))
        .map_err(|e| format!("{} cannot be written: {e}", spec.display()))?;
    let name = format!("{PACKAGE}-{VERSION}-1.x86_64.rpm");
    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--target", "x86_64-linux"]);
    for definition in [
        format!("_topdir {}", work.display()),
        format!("_rpmdir {}", folder.display()),
        format!("_rpmfilename {name}"),
        format!("stage {}", stage.display()),
        // Which every rpm reads.
        "_binary_payload w9.xzdio".into(),
        // The files are as they shall be: neither stripped nor packed nor divided.
        "__os_install_post %{nil}".into(),
        "debug_package %{nil}".into(),
        "_build_id_links none".into(),
        "use_source_date_epoch_as_buildtime 1".into(),
        "_buildhost localhost".into(),
    ] {
        rpmbuild.args(["--define", &definition]);
    }
    run(rpmbuild
        .arg(&spec)
        .env("SOURCE_DATE_EPOCH", seconds.to_string()))?;
    Ok(folder.join(name))
}

/// How rpmbuild makes the package.
fn specification(items: &[Item]) -> String {
    let owned: Vec<String> = owned(items)
        .iter()
        .map(|path| format!("/usr/{}", path.display()))
        .collect();
    // Names of libraries are the same in every distribution, unlike those of packages.
    format!(
        "\
Name: {PACKAGE}
Version: {VERSION}
Release: 1
Summary: {SUMMARY}
License: {LICENCE}
AutoReqProv: no
Requires: libc.so.6(GLIBC_2.{FLOOR_OF_PROGRAMS})(64bit)
Requires: libgcc_s.so.1()(64bit)

%description
{DESCRIPTION}
%install
mkdir -p '%{{buildroot}}'
cp -a '%{{stage}}/usr' '%{{buildroot}}'

%files
%defattr(-,root,root)
{}
",
        owned.join("\n")
    )
}

/// What the package owns below its prefix: folders that have our name, as a whole, and other files.
fn owned(items: &[Item]) -> BTreeSet<PathBuf> {
    let ours = |part: &Component| part.as_os_str() == PACKAGE;
    let owned = items.iter().map(|item| {
        let parts: Vec<Component> = item.to.components().collect();
        let folder = parts.iter().position(ours).map(|at| &parts[..=at]);
        folder.unwrap_or(&parts).iter().collect()
    });
    owned.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::Kind;

    #[test]
    fn folders_of_our_name_are_owned_as_a_whole() {
        let items = [
            "bin/collect",
            "lib/parallax/a.so",
            "share/doc/parallax/docs/b.md",
            "lib/parallax/b.so",
        ];
        let items = items.map(|to| Item {
            from: "x".into(),
            to: to.into(),
            kind: Kind::Text,
        });
        let text = specification(&items);
        let (_, files) = text.split_once("%defattr(-,root,root)\n").unwrap();
        assert_eq!(
            files,
            "/usr/bin/collect\n/usr/lib/parallax\n/usr/share/doc/parallax\n"
        );
    }
}
