//! The names of mutexes: of their variables, and of what is given to the call that initialises them.

use crate::directives::Text;
use crate::names;

/// The name of the critical section whose variable has this symbol, which may be empty; `None` for other
/// variables.
pub fn section_name(symbol: &str) -> Option<&str> {
    let plain = symbol.trim_start_matches(['.', '_']);
    let section = plain.strip_prefix("gomp_critical_user_")?;
    let section = section.trim_end_matches(".var");
    // flang adds the address space.
    Some(section.strip_suffix(".AS0").unwrap_or(section))
}

/// The name of the variable with this symbol, as in the source; of a critical section's variable, the
/// section's name.
pub fn variable_name(symbol: &str) -> String {
    if let Some(section) = section_name(symbol) {
        return section.to_owned();
    }
    // A static variable of a function is numbered.
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let base = match symbol.rsplit_once('.') {
        Some((base, number)) if is_number(number) => base,
        _ => symbol,
    };
    // flang: a variable is named as a procedure, with another letter.
    match base.rsplit_once('E').filter(|_| base.starts_with("_Q")) {
        Some((scopes, name)) => names::short(&format!("{scopes}P{name}")),
        None => names::short(base),
    }
}

/// The routines that initialise a lock, by their common part; its end distinguishes hints.
const ROUTINES: [&str; 2] = ["omp_init_lock", "omp_init_nest_lock"];

/// How many lines above its call's line a statement may begin.
const STATEMENT: u32 = 2;

/// The lock that the call of this line initialises, as the source spells it: the first argument,
/// without C's address operator.
pub(crate) fn argument(text: &Text, line: u32) -> Option<String> {
    let first = line.saturating_sub(STATEMENT).max(1);
    let mut lines = (first..=line).rev();
    lines.find_map(|line| argument_of(text.line(line)?))
}

fn argument_of(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let at = ROUTINES.iter().find_map(|name| lower.find(name))?;
    let (_, after) = line.get(at..)?.split_once('(')?;
    let mut depth = 0;
    let end = after.find(|character| {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            ')' => return true,
            ',' => return depth == 0,
            _ => {}
        }
        false
    })?;
    let argument = after.get(..end)?.trim();
    let argument = argument.strip_prefix('&').map_or(argument, str::trim);
    let argument = argument.strip_prefix('(').map_or(argument, |inner| {
        inner.strip_suffix(')').unwrap_or(argument).trim()
    });
    (!argument.is_empty()).then(|| argument.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_the_names_of_the_source() {
        for (symbol, name) in [
            ("table", "table"),
            ("lock.0", "lock"),
            (".gomp_critical_user_update", "update"),
            (".gomp_critical_user_update.var", "update"),
            ("_gomp_critical_user_update.AS0.var", "update"),
            (".gomp_critical_user_.var", ""),
            ("_ZN5graph5locksE", "graph::locks"),
            ("__grid_MOD_guard", "grid::guard"),
            ("_QMgridEguard", "grid::guard"),
        ] {
            assert_eq!(variable_name(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn the_lock_of_a_call_is_its_argument() {
        let argument = |text: &str, line| argument(&Text::new(text.as_bytes()), line);
        for (line, name) in [
            ("  omp_init_lock(&lock);", "lock"),
            (
                "for (i = 0; i < n; i++) omp_init_lock(&(locks[i]));",
                "locks[i]",
            ),
            ("omp_init_nest_lock(&node->lock);", "node->lock"),
            (
                "omp_init_lock_with_hint(&t[f(a, b)].lock, omp_lock_hint_contended);",
                "t[f(a, b)].lock",
            ),
            ("      CALL OMP_INIT_LOCK(GUARD(I))", "GUARD(I)"),
        ] {
            assert_eq!(argument(line, 1).as_deref(), Some(name), "{line}");
        }
        assert_eq!(argument("setup(&lock);", 1), None);
        assert_eq!(argument("omp_init_lock(\n    &lock);", 2), None);
        assert_eq!(
            argument("omp_init_lock(&lock);\n\nnext();", 3).as_deref(),
            Some("lock")
        );
        assert_eq!(argument("", 7), None);
    }
}
