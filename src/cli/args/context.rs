//! The context of every subcommand: the global options and the configuration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use urldb_canon::host_of;
use urldb_fetch::Mapping;
use urldb_files::Root;
use urldb_render::TerminalOptions;
use urldb_text::{nearest, sanitize};

use crate::archive::{ArchiveFiles, Catalogue};
use crate::cli::print::style;
use crate::config::{self, Author, Config, ConfigError};
use crate::database::aliases::referred_hosts;
use crate::git::Repository;
use crate::ledger::Incidents;
use crate::schedule::RepositoryLock;

/// Options that go with every subcommand.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct GlobalArgs {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    directory: Option<PathBuf>,
    /// Use this configuration in place of the nearest urldb.toml
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// When to use colour
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    color: Color,
    /// Print only problems
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more
    #[arg(short, long, global = true)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

impl GlobalArgs {
    /// Makes `--color` hold for all output. `auto` honours `NO_COLOR` and terminals.
    pub(crate) fn apply_color(&self) {
        let choice = match self.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }

    /// The directory that the program works in.
    pub(crate) fn directory(&self) -> anyhow::Result<PathBuf> {
        match &self.directory {
            Some(directory) => {
                ensure!(
                    urldb_files::is_folder(directory),
                    "-C {}: there is no such folder",
                    directory.display()
                );
                std::path::absolute(directory).context("cannot use the directory of -C")
            }
            None => std::env::current_dir().context("the current directory cannot be used"),
        }
    }

    /// The configuration that holds; the inner result has its mistakes.
    pub(crate) fn load_config(&self) -> anyhow::Result<Result<Config, ConfigError>> {
        self.load_config_by(Author::Maintainer)
    }

    fn load_config_by(&self, author: Author) -> anyhow::Result<Result<Config, ConfigError>> {
        let directory = self.directory()?;
        Ok(match &self.config {
            Some(file) => config::load_by(&directory.join(file), author),
            None => config::discover_by(&directory, author),
        })
    }

    /// Whether only problems are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether more is printed.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// The folder of domain files. Mistakes in the configuration are passed over.
    pub(crate) fn database_folder(&self) -> anyhow::Result<PathBuf> {
        let directory = self.directory()?;
        let file = self.config.as_ref().map(|file| directory.join(file));
        Ok(config::database_folder(&directory, file.as_deref())?)
    }
}

/// The context of a subcommand.
#[derive(Debug)]
pub struct Context {
    /// The configuration that holds.
    pub config: Config,
    /// The directory that was started in, or named with `-C`.
    pub directory: PathBuf,
    /// Print only problems.
    pub quiet: bool,
    /// Print more.
    pub verbose: bool,
}

impl Context {
    pub(crate) fn new(global: &GlobalArgs) -> anyhow::Result<Self> {
        Self::load(global, Author::Maintainer)
    }

    /// The context of a command with `--untrusted`. Names the keys without effect on standard error.
    pub(crate) fn with_trust(global: &GlobalArgs, trust: &TrustArgs) -> anyhow::Result<Self> {
        let context = Self::load(global, trust.author())?;
        if let Some(line) = &context.config.without_effect {
            style::print_note(line);
        }
        Ok(context)
    }

    fn load(global: &GlobalArgs, author: Author) -> anyhow::Result<Self> {
        let config = global.load_config_by(author)??;
        Ok(Self {
            config,
            directory: global.directory()?,
            quiet: global.quiet,
            verbose: global.verbose,
        })
    }

    /// The folder of domain files.
    pub(crate) fn database(&self) -> PathBuf {
        self.config.root.join(&self.config.database.path)
    }

    /// The folder of the ledger.
    pub(crate) fn ledger(&self) -> Root {
        self.config.ledger_root()
    }

    /// The archive, as far as it is on this machine.
    pub(crate) fn catalogue(&self) -> anyhow::Result<Catalogue> {
        Catalogue::open(ArchiveFiles::on_this_machine(&self.config)?)
    }

    /// The incidents that are open or closed a short time before `now`; all of them without a time. Warns of each file
    /// that cannot be read.
    pub(crate) fn incidents(&self, now: Option<Timestamp>) -> anyhow::Result<Incidents> {
        let ledger = self.ledger();
        let incidents = match now {
            Some(now) => Incidents::load(&ledger, now)?,
            None => Incidents::all(&ledger)?,
        };
        incidents.unreadable().iter().for_each(style::print_warning);
        Ok(incidents)
    }

    /// The domain file of a host, or where it would be.
    pub(crate) fn domain_file(&self, host: &str) -> PathBuf {
        self.database().join(format!("{host}.yaml"))
    }

    /// A path as people are shown it: relative to the root.
    pub(crate) fn shown(&self, path: &Path) -> String {
        sanitize(&self.config.relative_name(path)).into_owned()
    }

    /// The layout of reports on this terminal.
    pub(crate) fn terminal_options(&self) -> TerminalOptions {
        TerminalOptions {
            width: style::terminal_width(),
            quiet: self.quiet,
            all_urls: self.verbose,
        }
    }

    /// Makes this process the only urldb that writes to the repository, with a ledger that can be read.
    pub(crate) fn lock_repository(&self) -> anyhow::Result<RepositoryLock> {
        let repository = Repository::of_project(&self.config.root)?;
        let folder = repository
            .as_ref()
            .map_or(self.config.root.as_path(), Repository::common_dir);
        let lock = RepositoryLock::acquire(&folder.join("urldb.lock"))?;
        self.restore_ledger()?;
        Ok(lock)
    }
}

/// `--untrusted`, for commands that run on the files of strangers.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Read urldb.toml as a file of strangers: only harmless keys have an effect
    #[arg(long)]
    pub(crate) untrusted: bool,
}

impl TrustArgs {
    fn author(&self) -> Author {
        if self.untrusted {
            Author::Stranger
        } else {
            Author::Maintainer
        }
    }
}

/// `--map`, for every subcommand that fetches.
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// Send the requests for a host to another host or port
    #[arg(long = "map", value_name = "HOST[:PORT]=HOST[:PORT]")]
    maps: Vec<Mapping>,
}

impl MapArgs {
    /// Puts the mappings before those of the configuration: the first mapping of a host counts.
    ///
    /// # Errors
    /// When a mapped host is neither in the database nor among the hosts `added` to it: a typo would
    /// send the requests to the server that the user means to spare.
    pub(crate) fn apply(&self, context: &mut Context, added: &[String]) -> anyhow::Result<()> {
        let is_added = |host: &str| added.iter().any(|other| host_of(other) == host);
        let unknown: Vec<&str> = self
            .maps
            .iter()
            .filter(|map| {
                !is_added(&map.host) && !urldb_files::is_there(&context.domain_file(&map.host))
            })
            .map(|map| map.host.as_str())
            .collect();
        if !unknown.is_empty() {
            let mut known = referred_hosts(&context.config)?;
            known.extend(added.iter().cloned());
            for host in unknown {
                let is_known = known.iter().any(|domain| host_of(domain) == host);
                anyhow::ensure!(is_known, "{}", unused_map(host, &known));
            }
        }
        let map = &mut context.config.network.map;
        map.splice(0..0, self.maps.iter().cloned());
        Ok(())
    }
}

fn unused_map(host: &str, known: &BTreeSet<String>) -> String {
    let advice = match nearest(host, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => "a host that only redirects lead to belongs in `map` under [network]".to_owned(),
    };
    format!(
        "--map {host}=…: no domain file, cname or `redirects-to` of the database names {host}; {advice}"
    )
}
