//! Measures the index of a year of daily runs: `index_scale DIRECTORY LINES [DAYS]`.
//!
//! One run a day adds a line for each URL: at first a response, then revisits, and a new response for one
//! URL in a hundred. The example prints what it costs to add the lines, to look URLs up, and to merge the
//! segments, in the index as the runs leave it and after the merge. benches/index.py runs it.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use urldb_warc::cdxj::REVISIT_MIME;
use urldb_warc::index::{CdxjIndex, INDEX_DIRECTORY, merge_index, merge_into_index};
use urldb_warc::{CdxjLine, Extent};

/// Lookups that are measured.
const LOOKUPS: u64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: index_scale DIRECTORY LINES [DAYS]";
    let dir = PathBuf::from(arguments.next().ok_or(usage)?);
    let lines: u64 = arguments.next().ok_or(usage)?.parse()?;
    let days: u64 = arguments.next().map_or(Ok(365), |days| days.parse())?;
    std::fs::create_dir_all(&dir)?;
    let urls = lines / days;
    let (mut plain, mut longest) = (0, Duration::ZERO);
    let mut added = Duration::ZERO;
    for day in 0..days {
        let lines: Vec<CdxjLine> = (0..urls).map(|url| line(url, day)).collect();
        for line in &lines {
            plain += line.render()?.len() as u64 + 1;
        }
        let began = Instant::now();
        merge_into_index(&dir, &lines)?;
        longest = longest.max(began.elapsed());
        added += began.elapsed();
    }
    let lines = urls * days;
    println!("{lines} lines: {} bytes each in plain text", plain / lines);
    let each = added / u32::try_from(days)?;
    println!("{urls} lines added by a run: {each:.1?} on average, {longest:.1?} at most");
    report(&dir, lines, urls)?;
    let began = Instant::now();
    merge_index(&dir)?;
    println!("merged in {:.1?}", began.elapsed());
    report(&dir, lines, urls)?;
    println!("memory: {}", peak_memory().unwrap_or_default());
    Ok(())
}

/// Prints the size of the index and the time of lookups.
fn report(dir: &Path, lines: u64, urls: u64) -> Result<(), Box<dyn Error>> {
    let (mut bytes, mut segments) = (0, 0);
    for entry in std::fs::read_dir(dir.join(INDEX_DIRECTORY))? {
        let entry = entry?;
        bytes += entry.metadata()?.len();
        segments += u64::from(entry.path().extension().is_some_and(|it| it == "idx"));
    }
    let size = bytes * 10 / lines;
    let mut times = Vec::new();
    for n in 0..LOOKUPS {
        // Far from each other, and a new index each time, as for a command.
        let key = key(n * 7919 % urls);
        let began = Instant::now();
        let mut index = CdxjIndex::open(&dir)?;
        let found = index.captures(&key)?.count();
        times.push(began.elapsed());
        if found == 0 {
            return Err(format!("{key} is not found").into());
        }
    }
    times.sort();
    let median = times[times.len() / 2];
    println!(
        "{segments} segments, {}.{} bytes a line; a lookup {median:.2?} (at least {:.2?}, at most {:.2?})",
        size / 10,
        size % 10,
        times[0],
        times[times.len() - 1]
    );
    Ok(())
}

fn key(url: u64) -> String {
    format!(
        "org,example,data)/releases/{:03}/table-{url:07}.csv",
        url % 500
    )
}

fn line(url: u64, day: u64) -> CdxjLine {
    let hash = |seed: u64| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ seed;
    // One URL in a hundred changes on a day.
    let content = (0..=day)
        .rev()
        .find(|day| (url + day * 31) % 100 == 7)
        .unwrap_or(0);
    let is_new = day == 0 || content == day;
    let seed = hash(url << 16 | content);
    let digest = [0, 1, 2, 3]
        .map(|n| format!("{:016x}", hash(seed + n)))
        .concat();
    CdxjLine {
        key: key(url),
        timestamp: format!(
            "{:04}{:02}{:02}0600{:02}",
            2026 + day / 336,
            day / 28 % 12 + 1,
            day % 28 + 1,
            url % 60
        ),
        url: format!(
            "https://data.example.org/releases/{:03}/table-{url:07}.csv",
            url % 500
        ),
        mime: if is_new {
            "text/csv".to_owned()
        } else {
            REVISIT_MIME.to_owned()
        },
        status: is_new.then_some(200),
        digest: format!("sha256:{digest}"),
        extent: Extent {
            offset: url * 391 + hash(url + day) % 200,
            length: if is_new {
                3000 + seed % 9000
            } else {
                385 + seed % 12
            },
        },
        filename: format!("urldb-{:08}060000-00000-watcher.warc.gz", 20_260_000 + day),
        request: None,
        vary: None,
        truncated: None,
    }
}

/// The peak of the memory of this process, where the system tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(
        line.split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" "),
    )
}
