//! The manual page, made from the table of commands.

use crate::commands::{COMMANDS, Command, Group};

/// `er_print.1` in the language of man(7).
pub(crate) fn page() -> String {
    let mut page = String::from(HEAD);
    for group in Group::ALL {
        let commands: Vec<&Command> = COMMANDS
            .iter()
            .filter(|command| command.group == group)
            .collect();
        page.push_str(&format!(".SS {}\n", group.title()));
        for command in commands.iter().filter(|command| command.action.is_some()) {
            let names = std::iter::once(&command.name).chain(command.aliases);
            let names: Vec<String> = names
                .map(|name| format!("\\fB{}\\fR", escape(name)))
                .collect();
            let arguments = match command.arguments {
                "" => String::new(),
                arguments => format!(" \\fI{}\\fR", escape(arguments)),
            };
            page.push_str(&format!(
                ".TP\n{}{arguments}\n{}.\n",
                names.join(", "),
                escape(&sentence(command.help))
            ));
        }
        let later: Vec<String> = commands
            .iter()
            .filter(|command| command.action.is_none())
            .map(|command| escape(command.name))
            .collect();
        if !later.is_empty() {
            page.push_str(&format!(".PP\nNot supported yet: {}.\n", later.join(", ")));
        }
    }
    page.push_str(TAIL);
    page
}

fn sentence(help: &str) -> String {
    let mut letters = help.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Dashes and leading dots mean something else in man(7).
fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

const HEAD: &str = r#".TH ER_PRINT 1 "" "Parallax" "User Commands"
.SH NAME
er_print \- print reports of an OpenMP program's recording
.SH SYNOPSIS
.B er_print
.RB [ \-\fICOMMAND\fR
.RI [ ARG "] ...] " EXPERIMENT
.SH DESCRIPTION
Prints what
.BR collect (1)
or
.BR perf\-record (1)
has recorded: EXPERIMENT is a directory of the one or a file of the other. Commands are done in their order; any unambiguous beginning of a command's name
does, in any case of letters. Without commands they are read from standard input, one to a line; if that has none, and before the prompt of a
terminal, the overview is shown.
In user mode stacks are shown as the program's author wrote them, in machine mode as they were
measured.
.PP
A metric is written as flavour, visibility and name:
.B e
exclusive or
.B i
inclusive;
.B .
value,
.B %
percent,
.B !
hidden;
.B metric_list
shows the names. Several are joined by colons, as in
.BR e.%ompwork:i.%ompwait:name .
.SH COMMANDS
"#;

const TAIL: &str = r".SH EXIT STATUS
0 if all was done, 1 if data cannot be read or written or a
.B check
fails, 2 if the words are wrong or not supported yet, or if a
.B check
that passes is about findings of a program of which not all was checked. A message is one line on
standard error.
.SH SEE ALSO
.BR collect (1)
";
