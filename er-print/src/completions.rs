//! Completions for shells, made from the table of commands.

use crate::commands::choices::choices;
use crate::commands::{COMMANDS, Command};

fn supported() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(|command| command.action.is_some())
}

fn names() -> Vec<String> {
    let names =
        supported().flat_map(|command| std::iter::once(&command.name).chain(command.aliases));
    names.map(|name| format!("-{name}")).collect()
}

/// For bash.
pub(crate) fn bash() -> String {
    format!(
        r#"# Completions of er_print for bash, made from its table of commands.
_er_print() {{
    local word=${{COMP_WORDS[COMP_CWORD]}}
    case ${{COMP_WORDS[COMP_CWORD-1]}} in
{}    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "{}" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _er_print er_print
"#,
        chosen(|command, words| format!(
            "        -{}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
            command.name,
            words.join(" ")
        )),
        names().join(" ")
    )
}

/// A line for each command whose argument is one of few words.
fn chosen(line: impl Fn(&Command, &[&str]) -> String) -> String {
    let commands = supported().filter(|command| !choices(command).is_empty());
    commands
        .map(|command| line(command, choices(command)))
        .collect()
}

/// For zsh.
pub(crate) fn zsh() -> String {
    let quoted = |text: &str| text.replace('\'', "'\\''").replace(':', "\\:");
    let entries: String = supported()
        .flat_map(|command| {
            let names = std::iter::once(&command.name).chain(command.aliases);
            names.map(|name| format!("        '-{name}:{}'\n", quoted(command.help)))
        })
        .collect();
    let choices = chosen(|command, words| {
        format!(
            "        -{}) compadd {}; return ;;\n",
            command.name,
            words.join(" ")
        )
    });
    format!(
        "#compdef er_print\n# Completions of er_print for zsh, made from its table of commands.\n\
         _er_print() {{\n    local -a commands=(\n{entries}    )\n    case ${{words[CURRENT-1]}} in\n\
         {choices}    esac\n    if [[ $PREFIX == -* ]]; then\n\
         \x20       _describe -o command commands\n    else\n        _files\n    fi\n}}\n\
         _er_print \"$@\"\n"
    )
}

/// For fish.
pub(crate) fn fish() -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let entries: String = supported()
        .flat_map(|command| {
            let names = std::iter::once(&command.name).chain(command.aliases);
            let takes = if command.arguments.is_empty() {
                ""
            } else {
                " -x"
            };
            names.map(move |name| {
                let help = quoted(command.help);
                let words = match choices(command) {
                    [] => String::new(),
                    words => format!(" -a '{}'", words.join(" ")),
                };
                format!("complete -c er_print -o {name}{takes}{words} -d '{help}'\n")
            })
        })
        .collect();
    format!("# Completions of er_print for fish, made from its table of commands.\n{entries}")
}
