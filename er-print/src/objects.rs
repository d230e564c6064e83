//! Which load objects are shown in full: what `object_select` and its like set.

use omp_model::views::visibility::Visibility;

/// The choice for every load object, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Objects {
    /// The choice for objects that are not named below.
    others: Visibility,
    /// Later entries win.
    named: Vec<(String, Visibility)>,
}

impl Objects {
    /// Whether everything is shown.
    pub(crate) fn is_default(&self) -> bool {
        *self == Objects::default()
    }

    /// Sets the choice for some objects; `all` is every one.
    pub(crate) fn set(&mut self, list: &str, visibility: Visibility) {
        for name in names(list) {
            if name.eq_ignore_ascii_case("all") {
                *self = Objects {
                    others: visibility,
                    named: Vec::new(),
                };
            } else {
                self.named.retain(|(known, _)| *known != name);
                self.named.push((name, visibility));
            }
        }
    }

    /// Shows these alone.
    pub(crate) fn select(&mut self, list: &str) {
        self.set("all", Visibility::Hide);
        self.set(list, Visibility::Show);
    }

    /// The choice for an object, by the last part of its path.
    pub(crate) fn visibility(&self, name: &str) -> Visibility {
        let bare = bare(name);
        let found = self.named.iter().find(|(known, _)| known == bare);
        found.map_or(self.others, |(_, visibility)| *visibility)
    }
}

/// The names of a list, as `object_list` shows them: `<libc.so.6>` is `libc.so.6`.
pub(crate) fn names(list: &str) -> Vec<String> {
    list.split(',')
        .map(|name| bare(name.trim()).to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

/// A name without the brackets around it.
pub(crate) fn bare(name: &str) -> &str {
    name.trim_matches(['<', '>'])
}
