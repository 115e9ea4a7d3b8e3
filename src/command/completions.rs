//! `lease-exporter completions`: completion scripts for shells.

use clap::{Arg, Args, Command, CommandFactory as _};
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

/// Print a script that lets a shell complete this command line.
///
/// It completes commands, options, and values such as the names of presets. The Debian package installs it for
/// bash, zsh and fish.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut command = CommandLine::command();
    // The generator for bash is inconsistent about hyphens in names, so `BASH` registers the function for the program.
    let name = if arguments.shell == Shell::Bash { "lease_exporter" } else { "lease-exporter" };
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, name, &mut script);
    match arguments.shell {
        Shell::Bash => script.extend_from_slice(BASH.as_bytes()),
        Shell::Fish => script.extend_from_slice((FISH.to_owned() + &fish_values(&command)).as_bytes()),
        _ => {}
    }
    print(script)?;
    Ok(Exit::Ok)
}

/// Bash splits `--option=value` into three words, of which the generated function expects two.
const BASH: &str = r#"
_lease_exporter_words() {
    local prev="$3"
    if [[ "${prev}" == = ]]; then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    _lease_exporter "$1" "$2" "${prev}"
}

complete -F _lease_exporter_words -o nosort -o bashdefault -o default lease-exporter
"#;

/// Replaces the generated function, which parses options with `argparse`: fish allows no dots in their names there. The
/// command precedes all options, so no options need be parsed.
const FISH: &str = r#"
function __fish_lease_exporter_needs_command
    set -l cmd (commandline -opc)
    set -q cmd[2]; or return 0
    string match -q -- '-*' "$cmd[2]"; and return 0
    echo $cmd[2]
    return 1
end
"#;

/// The possible values of positional arguments, which the generator for fish leaves out.
fn fish_values(command: &Command) -> String {
    let lines = command.get_subcommands().filter_map(|subcommand| {
        let values = subcommand.get_positionals().flat_map(Arg::get_possible_values);
        let values = values.map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(" ");
        let condition = format!("__fish_lease_exporter_using_subcommand {}", subcommand.get_name());
        (!values.is_empty()).then(|| format!("complete -c lease-exporter -n \"{condition}\" -f -a \"{values}\"\n"))
    });
    lines.collect()
}
