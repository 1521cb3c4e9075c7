//! `urldb demo`: the whole program at work, in a few seconds and without a network.
//!
//! It is a test of this machine as well: what it shows is done by this very
//! binary and by git, and anything that is not as the story has it is an error.
//!
//! - `stage`: the temporary folder, and commands that run there
//! - `site`: a web server that can be broken on purpose; `world`: what it
//!   serves, and how it breaks
//! - `script`: what happens, step by step
//! - `evidence`: what the runs have left behind
//! - `narrator`: what people see of it

mod evidence;
mod narrator;
mod script;
mod site;
mod stage;
mod world;

use anstream::ColorChoice;
use anyhow::Context as _;

use crate::exit::ExitCode;
use crate::stop::{Stop, stop_on_signals};
use narrator::Narrator;
use script::Script;
use site::Site;
use stage::Stage;

/// Show urldb at work, in a few seconds and offline
///
/// In a temporary git repository, with a small site on this machine: promises
/// are made, kept, and broken in five ways, and a run finds exactly these.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb demo           leaves nothing behind
  urldb demo --keep    leaves the repository, the archive and the reports")]
pub(super) struct Args {
    /// Leave the folder where it is, to look around
    #[arg(long)]
    keep: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let stop = Stop::new();
    stop_on_signals(&stop).context("cannot listen for Ctrl-C")?;
    let out = anstream::stdout();
    let mut stage = Stage::build(out.current_choice() != ColorChoice::Never)?;
    stage.keep(args.keep);
    let site = Site::open().context("cannot open a port on 127.0.0.1 for the demo's site")?;
    world::set_up(&site);

    let mut script = Script {
        narrator: Narrator::new(out.lock()),
        stage: &stage,
        site: &site,
        stop: &stop,
    };
    let played = script.play();
    if args.keep {
        script.leave_open()?;
    } else {
        stage.strike()?;
    }
    match played {
        Err(_) if stop.is_set() => Ok(ExitCode::Interrupted),
        Err(error) => Err(error.context("the demo did not go as it should")),
        Ok(()) => Ok(ExitCode::Success),
    }
}
