//! The command line.

mod given;
mod healthcheck;
mod listen;
mod local;
mod run;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use given::Given;

use crate::settings::{
    Argument, FAMILIES, Invalid, Listed, Loaded, SETTINGS, listing, load, reference, split_arguments,
};
use crate::version::BUILT;

/// Exit code of a command line that cannot be used.
const USAGE: u8 = 2;

/// A Eureka service registry: existing Eureka clients use it by changing nothing but their URL.
///
/// Without any option it listens on port 8761, and clients use http://HOST:8761/eureka/. It reads application.yml,
/// application.properties or eurekad.yml where it starts, then the environment, then the command line.
#[derive(Debug, Parser)]
#[command(
    name = "eurekad",
    args_override_self = true,
    args_conflicts_with_subcommands = true,
    override_usage = "eurekad [OPTIONS] [--SETTING=VALUE ...]\n       \
        eurekad settings [--set | --reference] [OPTIONS] [--SETTING=VALUE ...]\n       \
        eurekad healthcheck [--live] [OPTIONS] [--SETTING=VALUE ...]\n       \
        eurekad local [--nodes 3] [--port 8761] [--SETTING=VALUE ...]"
)]
struct Arguments {
    #[command(flatten)]
    given: Given,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what every setting is and where it was set, and start nothing
    Settings {
        #[command(flatten)]
        given: Given,
        /// The documented list of all settings instead
        #[arg(long)]
        reference: bool,
        /// Only those that are set somewhere
        #[arg(long)]
        set: bool,
    },
    /// Ask the node that runs with these settings whether it takes traffic: for containers. Exits with 0 if it does
    Healthcheck {
        #[command(flatten)]
        given: Given,
        /// Ask only whether it lives
        #[arg(long)]
        live: bool,
    },
    /// Start a cluster on this machine, to try things out
    Local(local::Local),
}

/// Runs the program and returns its exit code: 0 after an orderly stop, 1 after a failure, 2 for a bad command line or
/// settings that cannot be used.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Result<Vec<String>, String> = arguments.into_iter().enumerate().map(text).collect();
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(which) => {
            say(&format!("eurekad: {which} is not UTF-8"));
            return ExitCode::from(USAGE);
        }
    };
    let (dotted, others) = split_arguments(arguments);
    if let Some(said) = others.iter().find_map(|option| for_java(option)) {
        say(&format!("eurekad: {said}"));
        return ExitCode::from(USAGE);
    }
    let command = Arguments::command()
        .version(BUILT.as_str())
        .after_long_help(settings_help())
        .after_help("--help lists all settings");
    let parsed = command.try_get_matches_from(others).and_then(|m| Arguments::from_arg_matches(&m));
    let done = match parsed {
        Ok(Arguments { given, command: None }) => with_settings(&given, dotted, run::run),
        Ok(Arguments { command: Some(Command::Settings { reference: true, .. }), .. }) => {
            print(&reference());
            Ok(())
        }
        Ok(Arguments { command: Some(Command::Settings { given, set, .. }), .. }) => {
            with_settings(&given, dotted, |loaded| {
                print(&listing(&loaded, if set { Listed::Set } else { Listed::All }));
                // A start would end with it, too.
                match &loaded.settings.peers.file {
                    Some(path) => crate::peers::read_file(path).map(drop).map_err(anyhow::Error::msg),
                    None => Ok(()),
                }
            })
        }
        Ok(Arguments { command: Some(Command::Healthcheck { given, live }), .. }) => {
            with_settings(&given, dotted, |loaded| healthcheck::run(&loaded.settings, live))
        }
        Ok(Arguments { command: Some(Command::Local(local)), .. }) => {
            let settings = dotted.into_iter().map(|Argument { option, value, .. }| match value {
                Some(value) => format!("{option}={value}"),
                None => option,
            });
            local::run(&local, &settings.collect::<Vec<_>>()).map_err(Failed::Running)
        }
        Err(e) => {
            // `--help` and `--version` come here too, and are no failure.
            let _ = e.print();
            return if e.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Settings(invalid)) => {
            let text = invalid.to_string().replace('\n', "\neurekad: ");
            say(&format!("eurekad: {text}"));
            // Who has misspelt YAML is not helped by a list of settings.
            if invalid.concerns_settings() {
                say("eurekad --help lists all settings");
            }
            ExitCode::from(USAGE)
        }
        Err(Failed::Running(e)) => {
            say(&format!("eurekad: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

/// An argument as text, or which one is none: without its value, which may be a password.
fn text((position, argument): (usize, OsString)) -> Result<String, String> {
    argument.into_string().map_err(|garbled| {
        let shown = garbled.to_string_lossy();
        match shown.split_once('=') {
            Some((key, _)) if key.starts_with("--") => format!("the value of {key:?}"),
            _ => format!("argument {position}"),
        }
    })
}

/// What to write instead of an option of Java's, without its value, which may be a password.
fn for_java(option: &str) -> Option<String> {
    let (name, _) = option.split_once('=').unwrap_or((option, ""));
    match name.strip_prefix("-D") {
        Some(key) if key.contains('.') => {
            Some(format!("{name}=… is Java's way to say it; here it is --{key}=…"))
        }
        _ => (name == "-jar" || name.starts_with("-X"))
            .then(|| format!("{name} is an option of Java's; leave it out, there is no Java here")),
    }
}

/// Why a command did not do what it should.
enum Failed {
    Settings(Invalid),
    Running(anyhow::Error),
}

fn with_settings(
    given: &Given,
    dotted: Vec<Argument>,
    work: impl FnOnce(Loaded) -> anyhow::Result<()>,
) -> Result<(), Failed> {
    let arguments = given.with(dotted);
    let loaded = load(&given.sources(&arguments)).map_err(Failed::Settings)?;
    work(loaded).map_err(Failed::Running)
}

fn settings_help() -> String {
    let mut help =
        String::from("Settings (camelCase keys work too; in files and in the environment as well):\n");
    for setting in SETTINGS {
        let default = if setting.default.is_empty() { "nothing" } else { setting.default };
        help.push_str(&format!(
            "  --{}=VALUE\n          {} [default: {default}]\n",
            setting.key, setting.about
        ));
    }
    for family in FAMILIES {
        help.push_str(&format!("  --{}=VALUE\n          {}\n", family.key, family.about));
    }
    help
}

/// Says something on standard error. Who closed it does not want to hear.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints what was asked for. Who closed standard output does not want it.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
