//! `lease-exporter completions`: the command line completed by a shell.

use std::fmt::Write as _;

use clap::{Args, Command, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::exit::Exit;
use super::manual::Manual;
use super::print::print;
use super::{CommandLine, Failure};

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("source <(lease-exporter completions bash)", "in ~/.bashrc: complete in bash"),
        ("lease-exporter completions zsh > \"${fpath[1]}/_lease-exporter\"", "complete in zsh, from its next start on"),
        ("lease-exporter completions fish > ~/.config/fish/completions/lease-exporter.fish", "complete in fish"),
    ],
    environment: &[],
    exits: &[(Exit::Ok, "the script was printed")],
};

/// Print a script that has a shell complete this command line.
///
/// It completes commands, options, and values such as the names of presets. The Debian package has it installed already
/// for bash, zsh and fish.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut command = CommandLine::command();
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, "lease-exporter", &mut script);
    let script = String::from_utf8_lossy(&script);
    print(&match arguments.shell {
        Shell::Bash => mended_for_bash(&script),
        Shell::Fish => mended_for_fish(&script, &command),
        _ => script.into_owned(),
    })?;
    Ok(Exit::Ok)
}

/// What is generated knows one name for the state after a command and goes by another, if the program's own name has a
/// hyphen; and it knows `--option value` alone, for bash takes `--option=value` for three words.
fn mended_for_bash(script: &str) -> String {
    let words_at_equals_signs = "    prev=\"$3\"
    if [[ \"${prev}\" == = ]]; then
        prev=\"${COMP_WORDS[COMP_CWORD-2]}\"
    fi
";
    script.replace("lease__subcmd__exporter", "lease__exporter").replacen("    prev=\"$3\"\n", words_at_equals_signs, 1)
}

/// What is generated has options parsed by a part of fish that refuses dots in their names, and leaves out the values of
/// what is no option. A command comes before all options, so none needs to be parsed to find it.
fn mended_for_fish(script: &str, command: &Command) -> String {
    let parsed = "    argparse -s (__fish_lease_exporter_global_optspecs) -- $cmd 2>/dev/null\n    or return\n";
    let first = "    string match -q -- '-*' \"$cmd[1]\"\n    and return\n    set argv $cmd\n";
    let mut script = script.replacen(parsed, first, 1);
    for of in command.get_subcommands() {
        let values = of.get_positionals().flat_map(|argument| argument.get_possible_values());
        let values = values.map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(" ");
        if !values.is_empty() {
            let name = of.get_name();
            let _ = writeln!(
                script,
                "complete -c lease-exporter -n \"__fish_lease_exporter_using_subcommand {name}\" -f -a \"{values}\""
            );
        }
    }
    script
}
