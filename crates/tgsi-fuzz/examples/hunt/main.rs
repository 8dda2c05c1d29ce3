//! Runs an oracle over a range of seeds, says every fault with its seed, and makes the first of each
//! kind small.
//!
//! `hunt [--mode programs|text] [--first N] [--count N] [--level 1|2|3] [--size BYTES]
//! [--large BYTES] [--threads N] [--limit N] [--every SECONDS] [--patience SECONDS]`
//!
//! - `--mode`: what is tried; whole programs through the optimiser if not given.
//! - `--level`: that level with its own passes and without liberties with floats, for virgl or
//!   generic as the seed says. Without it the seed chooses from all setups.
//! - `--size`, `--large`: bytes a program is made from; every sixteenth seed takes the large number.
//! - `--limit`: how many faults of a kind are made small.
//! - `--every`: seconds between two lines of progress; 0 for none.
//! - `--patience`: seconds after which a check counts as one that does not end. Its thread is left
//!   to itself and another goes on.

mod programs;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the command line asks for.
pub(crate) struct Request {
    mode: String,
    first: u64,
    count: u64,
    level: Option<u64>,
    size: u64,
    large: u64,
    threads: u64,
    limit: u64,
    every: u64,
    patience: u64,
}

impl Request {
    fn of(args: &[String]) -> Result<Request, String> {
        let mut r = Request {
            mode: "programs".into(),
            first: 0,
            count: 1000,
            level: None,
            size: 4096,
            large: 4096,
            threads: 1,
            limit: 4,
            every: 60,
            patience: 120,
        };
        for pair in args.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("{} lacks a value", pair[0]));
            };
            if name == "--mode" {
                r.mode.clone_from(value);
                continue;
            }
            let number = value
                .parse()
                .map_err(|_| format!("{value} is not a number"))?;
            match name.as_str() {
                "--first" => r.first = number,
                "--count" => r.count = number,
                "--level" => r.level = Some(number),
                "--size" => r.size = number,
                "--large" => r.large = number,
                "--threads" => r.threads = number,
                "--limit" => r.limit = number,
                "--every" => r.every = number,
                "--patience" => r.patience = number,
                _ => return Err(format!("there is no option {name}")),
            }
        }
        Ok(r)
    }

    /// How many bytes the program of a seed is made from.
    pub(crate) fn bytes(&self, seed: u64) -> usize {
        let size = if seed.is_multiple_of(16) {
            self.large
        } else {
            self.size
        };
        size as usize
    }
}

/// What all threads share.
pub(crate) struct Hunt {
    pub(crate) request: Request,
    next: AtomicU64,
    done: AtomicU64,
    /// What each seed at work does, and since when.
    busy: Mutex<BTreeMap<u64, (Instant, String)>>,
    totals: Mutex<BTreeMap<&'static str, u64>>,
    seen: Mutex<BTreeMap<String, u64>>,
}

impl Hunt {
    /// Says what a seed is at; the time until it must say so again starts anew.
    pub(crate) fn note(&self, seed: u64, text: String) {
        if let Ok(mut busy) = self.busy.lock() {
            busy.insert(seed, (Instant::now(), text));
        }
    }

    /// Adds to a total.
    pub(crate) fn add(&self, name: &'static str, n: u64) {
        if let Ok(mut totals) = self.totals.lock() {
            *totals.entry(name).or_default() += n;
        }
    }

    /// Counts a fault; whether it is one of the first of its kind.
    pub(crate) fn fault(&self, kind: String) -> bool {
        self.seen.lock().is_ok_and(|mut seen| {
            let n = seen.entry(kind).or_default();
            *n += 1;
            *n <= self.request.limit
        })
    }

    fn figures(&self) -> String {
        let mut text = format!("{} seeds", self.done.load(Ordering::Relaxed));
        if let Ok(totals) = self.totals.lock() {
            for (name, n) in totals.iter() {
                text += &format!(", {n} {name}");
            }
        }
        if let Ok(seen) = self.seen.lock() {
            for (kind, n) in seen.iter() {
                text += &format!("\n{n:8} {kind}");
            }
        }
        text
    }
}

fn work(hunt: &Hunt) {
    let end = hunt.request.first + hunt.request.count;
    loop {
        let seed = hunt.next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return;
        }
        hunt.note(seed, String::new());
        match hunt.request.mode.as_str() {
            "text" => text::one(hunt, seed),
            _ => programs::one(hunt, seed),
        }
        let kept = hunt.busy.lock();
        if !kept.is_ok_and(|mut b| b.remove(&seed).is_some()) {
            return; // Given up, and another thread took over.
        }
        hunt.done.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let request = match Request::of(&args) {
        Ok(r) if matches!(r.mode.as_str(), "programs" | "text") => r,
        Ok(r) => {
            eprintln!("there is no mode {}", r.mode);
            std::process::exit(2)
        }
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2)
        }
    };
    std::panic::set_hook(Box::new(|_| {}));
    let hunt = Arc::new(Hunt {
        next: AtomicU64::new(request.first),
        done: AtomicU64::new(0),
        busy: Mutex::default(),
        totals: Mutex::default(),
        seen: Mutex::default(),
        request,
    });
    let start = Instant::now();
    let spawn = || {
        let hunt = Arc::clone(&hunt);
        std::thread::spawn(move || work(&hunt))
    };
    let mut threads: Vec<_> = (0..hunt.request.threads).map(|_| spawn()).collect();
    let mut told = 0;
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let mut late: Vec<(u64, String)> = Vec::new();
        if let Ok(mut busy) = hunt.busy.lock() {
            let patience = Duration::from_secs(hunt.request.patience);
            busy.retain(|seed, (since, text)| {
                let in_time = since.elapsed() <= patience;
                if !in_time {
                    late.push((*seed, std::mem::take(text)));
                }
                in_time
            });
        }
        for (seed, text) in late {
            println!("=== seed {seed} does not end: {text}");
            hunt.fault("does not end".into());
            threads.push(spawn());
        }
        let seconds = start.elapsed().as_secs();
        if hunt.request.every > 0 && seconds / hunt.request.every > told {
            told = seconds / hunt.request.every;
            println!("--- {seconds} s: {}", hunt.figures());
        }
        let idle = hunt.busy.lock().is_ok_and(|b| b.is_empty());
        let end = hunt.request.first + hunt.request.count;
        if idle && hunt.next.load(Ordering::Relaxed) >= end {
            break;
        }
    }
    println!("{} s: {}", start.elapsed().as_secs(), hunt.figures());
    let faults = hunt.seen.lock().map_or(1, |seen| seen.len());
    std::process::exit(i32::from(faults > 0));
}
