//! The optimising pipeline: lift, clean, place, pack, allocate, print; the best of all results.

mod chaos;
mod dot;

pub use dot::{NoGraph, egraph_dot};

use std::borrow::Cow;
use std::sync::Arc;

use tgsi::Program;
use tgsi_ir::layout::layout;
use tgsi_ir::{Chaos, Function, lift};
use tgsi_pack::bound::lower_bound;
use tgsi_pack::count::least_instructions;
use tgsi_pack::lir;
use tgsi_pack::pack::{PackId, PackOptions, pack};
use tgsi_pack::sched::{Scheduler, Slack, Strategy};
use tgsi_pack::webs::{WebOptions, settle_undefined, webs};
use tgsi_passes::cx::{LastSite, Rewriting};
use tgsi_passes::legalize::{legalized, not_taken};
use tgsi_passes::{PassCx, egraph};
use tgsi_target::{Cost, Counts, MISSING, Taken, Target, count, count_result};

use crate::arrays::arrays_joined;
use crate::bisect::last_rewrite;
use crate::constants::packed;
use crate::explain::{Origins, explanation};
use crate::faults::spoil;
use crate::lower::{Draft, LowerError, LowerOptions, Lowering, address_registers};
use crate::shapes::shaped;
use crate::verified::verified;
use tgsi_rules::Contract;

use crate::{
    Fallback, FallbackKind, Fault, LastRewrite, Level, Observer, Options, Outcome, PassEvent,
    PassInfo, Stage,
};

/// Optimises a program. Never fails: where it cannot do better, the input is the result.
pub fn optimize(program: &Program, options: &Options) -> Outcome {
    optimize_with(program, options, None)
}

/// More than any program costs.
const MOST: Cost = Cost {
    misfit: u32::MAX,
    instructions: u32::MAX,
    limited_slots: u32::MAX,
    limited_indirections: u32::MAX,
    temps: u32::MAX,
    indirections: u32::MAX,
    immediates: u32::MAX,
    tokens: u32::MAX,
};

/// Most rounds at `-O2`: each but the last made the program cheaper.
const MAX_ROUNDS: u32 = 8;

/// Most values of a function that equality saturation looks at: beyond that its limit on nodes leaves
/// no room to find anything.
const MOST_SATURATED: usize = 1_000;

/// As [`optimize`], telling `observer` of every pass.
pub fn optimize_with(
    program: &Program,
    options: &Options,
    observer: Option<&mut dyn Observer>,
) -> Outcome {
    let outcome = optimize_watched(program, options, observer, LastSite::default());
    packed(verified(outcome, program, options), program, options)
}

/// As [`optimize_with`], but constants stay where they are; `last` holds where the last unit of fuel went
/// even if a pass panics.
pub(crate) fn optimize_watched(
    program: &Program,
    options: &Options,
    observer: Option<&mut dyn Observer>,
    last: LastSite,
) -> Outcome {
    if let Cow::Owned(target) = options.consumer() {
        let options = Options {
            target,
            expand: false,
            ..options.clone()
        };
        return optimize_watched(program, &options, observer, last);
    }
    let before = count(program);
    if options.level == Level::O0 && options.passes.is_none() {
        return Outcome::input(program, before);
    }
    let mut run = Run {
        last,
        ..Run::new(program, options, observer)
    };
    let mut state = State {
        cost: if options.any_cost {
            MOST
        } else {
            Cost::of(program, &before, &options.target)
        },
        best: None,
        rewriting: Rewriting::default(),
        origins: Origins::default(),
    };
    let mut fallback = None;
    let single = options.level < Level::O2 || options.passes.is_some();
    let first = options.level.min(Level::O2);
    match run.rounds(program, first, &mut state, single) {
        Ok(_) if options.level == Level::O3 && !single => run.search(program, &mut state),
        // What nearly fits is worth a search.
        Ok(_) if !single && options.search_to_fit && nearly_fits(&state.cost, &options.target) => {
            run.search(program, &mut state);
        }
        Ok(_) => {}
        Err(reason) => fallback = Some(reason),
    }
    // Where one allocation is wrong, no other is trusted.
    let best = state.best.filter(|_| run.wrong.is_none());
    fallback = run.wrong.take().or(fallback);
    let result = best.as_ref().map_or(program, |b| &b.program);
    let kept = run.reason.take();
    let kept = kept.filter(|_| !options.target.not_taken(result).is_empty());
    let rewriting = state.rewriting;
    let rounds = run.round;
    let (rewrites, last_rewrite) = (run.rewrites, run.last_rewrite);
    let pass_times = run.times;
    let explanation = if options.explain {
        explanation(program, &rewriting.steps)
    } else {
        Vec::new()
    };
    let outcome = match best {
        Some(b) => Outcome {
            program: b.program,
            after: b.counts,
            unchanged: false,
            temps_bound: b.temps_bound,
            temps_channel_bound: b.temps_channel_bound,
            instructions_bound: b.instructions_bound,
            rewriting,
            ..Outcome::input(program, before)
        },
        None => Outcome::input(program, before),
    };
    Outcome {
        kept,
        fallback,
        rounds,
        pass_times,
        explanation,
        rewrites,
        last_rewrite,
        ..outcome
    }
}

impl Outcome {
    /// The input as the result.
    pub(crate) fn input(program: &Program, counts: Counts) -> Outcome {
        Outcome {
            program: program.clone(),
            before: counts,
            after: counts,
            unchanged: true,
            fallback: None,
            rounds: 0,
            temps_bound: None,
            temps_channel_bound: None,
            instructions_bound: None,
            pass_times: Vec::new(),
            rewriting: Rewriting::default(),
            explanation: Vec::new(),
            kept: None,
            constants: Vec::new(),
            rewrites: 0,
            last_rewrite: None,
            verification: None,
        }
    }
}

/// Outputs of which virglrenderer's hosts want all channels in one write: clip distances, and
/// colours of stages before the rasteriser.
fn whole_outputs(program: &Program, options: &Options) -> Vec<i32> {
    let mut out = Vec::new();
    if !options.target.virgl || program.stage == tgsi::Stage::Frag {
        return out;
    }
    for item in &program.header {
        let tgsi::Item::Decl(d) = item else { continue };
        let name = d.semantic.as_ref().map_or("", |s| &*s.name);
        if d.file == tgsi::File::Out
            && matches!(name, "COLOR" | "BCOLOR" | "CLIPDIST" | "CLIPVERTEX")
        {
            out.extend(d.first..=d.last.min(d.first.saturating_add(64)));
        }
    }
    out
}

/// Every pass, in the order of the registry.
pub fn passes() -> &'static [PassInfo] {
    use std::sync::LazyLock;
    static ALL: LazyLock<Vec<PassInfo>> = LazyLock::new(|| {
        tgsi_passes::registry::PASSES
            .iter()
            .map(|p| PassInfo {
                name: p.name,
                summary: p.summary,
            })
            .collect()
    });
    &ALL
}

/// A result that was cheaper than what there was.
struct Candidate {
    program: Program,
    counts: Counts,
    cost: Cost,
    temps_bound: Option<u32>,
    temps_channel_bound: Option<u32>,
    instructions_bound: Option<u32>,
    /// What rules did in this round.
    rewriting: Rewriting,
    /// Where the program of the round before computed what each instruction does; only kept where
    /// explanations are asked for.
    origins: Origins,
}

/// The cheapest result so far, with the way to it.
struct State {
    cost: Cost,
    best: Option<Candidate>,
    rewriting: Rewriting,
    origins: Origins,
}

struct Run<'a, 'o> {
    options: &'a Options,
    observer: Option<&'o mut dyn Observer>,
    times: Vec<(&'static str, u64)>,
    round: u32,
    /// The level of the round.
    level: Level,
    fuel: Option<u64>,
    /// Rules that are left out, by number.
    disabled_rules: Vec<u16>,
    input: &'a Program,
    /// Outputs that the target wants written whole.
    whole_outputs: Vec<i32>,
    /// The first allocation that its check refused.
    wrong: Option<Fallback>,
    /// What the target takes.
    taken: Arc<Taken>,
    /// Why control flow is left that the target does not take.
    reason: Option<String>,
    /// Rewrites that passes did.
    rewrites: u64,
    /// Where the last unit of fuel went.
    last: LastSite,
    /// The same, in terms of the input.
    last_rewrite: Option<LastRewrite>,
}

impl<'a, 'o> Run<'a, 'o> {
    fn new(
        program: &'a Program,
        options: &'a Options,
        observer: Option<&'o mut dyn Observer>,
    ) -> Run<'a, 'o> {
        Run {
            options,
            observer,
            times: Vec::new(),
            round: 0,
            level: options.level,
            fuel: options.fuel,
            disabled_rules: options
                .disable
                .iter()
                .filter_map(|name| tgsi_passes::rules::rule_set().position(name))
                .map(|n| n as u16)
                .collect(),
            input: program,
            whole_outputs: whole_outputs(program, options),
            wrong: None,
            taken: Arc::new(Taken::of(&options.target)),
            reason: None,
            rewrites: 0,
            last: LastSite::default(),
            last_rewrite: None,
        }
    }

    /// Whether a part of the pipeline is left out.
    fn skips(&self, stage: Stage) -> bool {
        self.options.disable.iter().any(|d| d == stage.name())
    }

    /// Takes what passes spent and did.
    fn spent(&mut self, cx: &PassCx) {
        self.fuel = cx.fuel.get();
        self.rewrites += cx.rewrites.get();
    }

    /// Notes which rewrite of the round took the last unit of fuel. The round began with a program that
    /// computes what the input does at `origins`.
    fn note_last(&mut self, origins: &Origins) {
        if self.last_rewrite.is_some() {
            return;
        }
        let origins = self.options.explain.then_some(origins);
        self.last_rewrite = last_rewrite(&self.last, origins);
    }

    /// Whether rules may do anything.
    fn rewrites(&self) -> bool {
        self.options.passes.is_none() && !self.options.disable.iter().any(|d| d == "egraph")
    }

    fn timed<T>(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = (self.options.now)();
        let out = work(self);
        let nanos = (self.options.now)().saturating_sub(start);
        match self.times.iter_mut().find(|t| t.0 == name) {
            Some(t) => t.1 += nanos,
            None => self.times.push((name, nanos)),
        }
        out
    }

    fn tell(&mut self, name: &str, changed: bool, nanos: u64, f: &Function) {
        if let Some(o) = self.observer.as_mut() {
            o.pass(&PassEvent {
                name,
                round: self.round,
                changed,
                nanos,
                dump: &|| f.to_string(),
            });
        }
    }

    /// Rounds of a level, each on the result of the one before, as long as they gain; whether any did.
    /// Fails only if the first round of all could not work on the input.
    fn rounds(
        &mut self,
        input: &Program,
        level: Level,
        state: &mut State,
        single: bool,
    ) -> Result<bool, Fallback> {
        self.level = level;
        let mut gained = false;
        for _ in 0..MAX_ROUNDS {
            self.round += 1;
            let start = state.best.as_ref().map_or(input, |b| &b.program);
            let found = self.once(start, state.cost);
            self.note_last(&state.origins);
            match found {
                Ok(Some(better)) => {
                    self.accept(state, better);
                    gained = true;
                }
                // Where two arrays are one, other stores are dead.
                Ok(None) if self.join_arrays(input, state) => gained = true,
                Ok(None) => break,
                Err(reason) if self.round == 1 => return Err(reason),
                Err(_) => break,
            }
            if single || self.skips(Stage::Rounds) {
                self.join_arrays(input, state);
                break;
            }
        }
        Ok(gained)
    }

    /// Makes a result the best one.
    fn accept(&self, state: &mut State, mut better: Candidate) {
        state.cost = better.cost;
        if self.options.explain {
            state.origins.trace_back(&mut better.rewriting.steps);
            let origins = std::mem::take(&mut state.origins);
            state.origins = origins.followed_by(&better.origins);
        }
        state.rewriting.add(&better.rewriting);
        state.best = Some(better);
    }

    /// What -O3 adds to the result of -O2: a search from the input, then from the best, until neither
    /// level finds anything.
    fn search(&mut self, input: &Program, state: &mut State) {
        if self.skips(Stage::Rounds) {
            return;
        }
        self.level = Level::O3;
        self.round += 1;
        let found = self.once(input, state.cost);
        self.note_last(&Origins::default());
        if let Ok(Some(better)) = found {
            let mut fresh = State {
                cost: state.cost,
                best: None,
                rewriting: Rewriting::default(),
                origins: Origins::default(),
            };
            self.accept(&mut fresh, better);
            *state = fresh;
        }
        for _ in 0..MAX_ROUNDS {
            // Neither can fail: the input was worked on before.
            let _ = self.rounds(input, Level::O3, state, false);
            if self.rounds(input, Level::O2, state, false) != Ok(true) {
                break;
            }
        }
    }

    /// One round: the best result below `bar`, if there is one.
    fn once(&mut self, program: &Program, bar: Cost) -> Result<Option<Candidate>, Fallback> {
        let lifted = self.timed("lift", |_| lift(program));
        let mut f = lifted.map_err(|e| unsupported("lift", e.to_string()))?;
        self.tell("lift", true, 0, &f);
        // An integer operand holds a `-` only where the source has that too: not all consumers know it.
        let negates = f.values.iter().any(|(_, d)| d.op == tgsi_ir::VOp::INeg);
        // Identities sometimes part lanes that the source computed by one instruction.
        let plain = self.looks_at_source().then(|| f.clone());
        let source = (!self.taken.everything()).then(|| f.clone());
        f = self.clean(f)?;
        let (f, forced) = self.legal(f);
        let source = source.filter(|_| !not_taken(&f, &self.taken).is_empty());
        let mut best: Option<Candidate> = None;
        let mut failed = None;
        let mut variants = self.variants(f);
        if let Some(f) = plain {
            let cx = self.cx();
            let copied = tgsi_passes::run_pass("copy-prop", &f, &cx);
            self.spent(&cx);
            variants.push((copied.unwrap_or(f), Rewriting::default()));
        }
        for (f, mut rewriting) in variants {
            // Rules make nothing that is not taken, but cleaning may have.
            let (f, more) = self.legal(f);
            rewriting.contract = rewriting.contract.and(forced).and(more);
            let bound = best.as_ref().map_or(bar, |b| b.cost.min(bar));
            match self.emitted(&f, program, negates, bound) {
                Ok(Some(better)) => {
                    best = Some(Candidate {
                        rewriting,
                        ..better
                    });
                }
                Ok(None) => {}
                Err(e) => failed = Some(e),
            }
        }
        // What cannot be made legal as a whole is still better optimised than not.
        if let Some(f) = source {
            let f = self.cleaned(f, Arc::clone(&self.taken))?;
            let bound = best.as_ref().map_or(bar, |b| b.cost.min(bar));
            best = self.emitted(&f, program, negates, bound)?.or(best);
        }
        match (best, failed) {
            (None, Some(e)) => Err(e),
            (best, _) => Ok(best),
        }
    }

    /// Whether the function as the source has it is tried too: for its price, where programs are few or
    /// limits are near.
    fn looks_at_source(&self) -> bool {
        let limited = self.options.target.limits.indirections.is_some();
        self.rewrites() && (self.level == Level::O3 || limited && self.level == Level::O2)
    }

    /// A function as a program: the best one below `bar`, if there is one.
    fn emitted(
        &mut self,
        f: &Function,
        program: &Program,
        negates: bool,
        bar: Cost,
    ) -> Result<Option<Candidate>, Fallback> {
        let (lir, l, w) = self.timed("place", |s| {
            let l = layout(f);
            let mut lir = lir::build(f, &l, negates && !s.options.target.virgl);
            let options = WebOptions {
                no_int_outputs: s.options.target.virgl,
                whole_outputs: &s.whole_outputs,
            };
            let w = webs(&lir, &l, options);
            settle_undefined(&mut lir, &w);
            (lir, l, w)
        });
        let mut best: Option<Candidate> = None;
        let mut failed = None;
        let whole = self.whole_outputs.clone();
        for options in self.pack_options(program, f.zero_wins, &whole) {
            let p = self.timed("pack", |_| pack(f, &lir, &w, &options));
            let bound = best.as_ref().map_or(bar, |b| b.cost.min(bar));
            if too_long(least_instructions(&l, &p), &bound) {
                continue;
            }
            let mut scheduler = self.timed("schedule", |_| Scheduler::new(&p));
            if let Some(c) = self.chaos() {
                scheduler.perturb(c);
            }
            let mut orders: Vec<Vec<Vec<PackId>>> = Vec::new();
            let limit = options.level_limit;
            // Levels of the orders at hand, and up to which one their fetches are spread.
            let mut levels = limit.map(|most| p.levels(most)).unwrap_or_default();
            let mut up_to = levels.highest;
            let least = limit.map(|_| up_to);
            let plain = self.strategies().iter().map(|&s| Order::Plain(s));
            let by_levels = limit.zip(least).into_iter().flat_map(|(limit, least)| {
                let most = limit.max(least).min(least + MOST_NODES);
                (least..=most).flat_map(|n| SLACKS.map(|s| Order::Levels(s, n)))
            });
            let mut all: Vec<Order> = plain.chain(by_levels).collect();
            if self.skips(Stage::Orders) {
                all.truncate(1);
            }
            for strategy in all {
                if let (Order::Levels(_, most), Some(least), Some(b)) = (strategy, least, &best) {
                    // More nodes than must be are for programs that need many temporaries.
                    let within = b.cost.limited_indirections <= limit.unwrap_or(0) + 1;
                    let target = &self.options.target;
                    let few = target.limits.temps.is_none_or(|n| b.cost.temps <= n);
                    if most > least && (within && few || too_many_slots(&b.cost, target)) {
                        break;
                    }
                }
                let order = self.timed("schedule", |_| match strategy {
                    Order::Plain(strategy) => scheduler.schedule(strategy),
                    Order::Levels(slack, most) => {
                        if most != up_to {
                            levels = p.spread_levels(most, &scheduler.schedule(Strategy::Late));
                            up_to = most;
                        }
                        scheduler.by_levels(&p, &levels, slack)
                    }
                });
                let placed: usize = order.iter().map(Vec::len).sum();
                if placed != p.packs.iter().filter(|q| !q.dead).count() {
                    failed = Some(unsupported(
                        "schedule",
                        "packs depend on each other in a circle".to_owned(),
                    ));
                    continue;
                }
                // Small programs have few orders.
                if orders.contains(&order) {
                    continue;
                }
                let lower_options = LowerOptions {
                    restarts: self.restarts(),
                    exact: self.exact_steps(),
                    limit: self.options.target.limits.temps,
                    address_roles: self.options.target.virgl,
                    separate_precise: self.options.target.virgl,
                    part_fetches: false,
                    chaos: self.chaos(),
                };
                let by_levels = matches!(strategy, Order::Levels(..));
                for part_fetches in [false, true] {
                    let bound = best.as_ref().map_or(bar, |b| b.cost.min(bar));
                    let lower_options = LowerOptions {
                        part_fetches,
                        ..lower_options
                    };
                    let mut clean = true;
                    let lowered = self.timed("allocate", |_| {
                        let draft = Draft::new(f, &l, &p, &order, program, lower_options)?;
                        let mut low = allocate(draft, &bound)?;
                        if by_levels && let Some(low) = &mut low {
                            clean = low.order_fetches();
                        }
                        Ok(low)
                    });
                    let better = match lowered {
                        Ok(Some(low)) => self.timed("print", |s| s.candidate(&low, bound)),
                        Ok(None) => Ok(None),
                        Err(e) => Err(e),
                    };
                    match better {
                        Ok(Some(b)) => best = Some(b),
                        Ok(None) => {}
                        Err(e @ LowerError::Check(_)) => {
                            let fault = unverified("lower", e.to_string());
                            self.wrong.get_or_insert_with(|| fault.clone());
                            return Err(fault);
                        }
                        Err(e) => failed = Some(unsupported("lower", e.to_string())),
                    }
                    if clean || self.skips(Stage::PartFetches) {
                        break;
                    }
                }
                orders.push(order);
            }
        }
        match (best, failed) {
            (Some(b), _) => {
                let mixed = self.level >= Level::O2;
                Ok(Some(Candidate {
                    instructions_bound: Some(lower_bound(f, &lir, &l, mixed)),
                    ..b
                }))
            }
            (None, Some(e)) => Err(e),
            (None, None) => Ok(None),
        }
    }

    /// Prints a program; it is a candidate if it costs less than `bound` and the target takes it.
    fn candidate(&self, low: &Lowering<'_>, bound: Cost) -> Result<Option<Candidate>, LowerError> {
        let mut program = low.print()?;
        if let Some(Fault::Stage(stage)) = self.options.sabotage
            && !self.skips(stage)
        {
            spoil(&mut program);
        }
        if self.options.check_regalloc {
            low.check(&program)?;
        }
        if self.options.target.bare
            && let Some(other) = shaped(&program, &self.options.target)
        {
            program = other;
        }
        let counts = count_result(&program, self.input);
        let cost = Cost::of(&program, &counts, &self.options.target);
        if cost >= bound || !self.acceptable(&program) {
            return Ok(None);
        }
        Ok(Some(Candidate {
            program,
            counts,
            cost,
            temps_bound: Some(low.temps_bound()),
            temps_channel_bound: Some(low.temps_channel_bound()),
            instructions_bound: None,
            rewriting: Rewriting::default(),
            origins: if self.options.explain {
                low.origins()
            } else {
                Origins::default()
            },
        }))
    }

    /// Lets arrays of the best result share registers; whether that costs less.
    fn join_arrays(&self, input: &Program, state: &mut State) -> bool {
        let result = state.best.as_ref().map_or(input, |b| &b.program);
        if self.skips(Stage::Arrays) {
            return false;
        }
        let Some(program) = arrays_joined(result) else {
            return false;
        };
        let counts = count_result(&program, self.input);
        let cost = Cost::of(&program, &counts, &self.options.target);
        if cost >= state.cost || !self.acceptable(&program) {
            return false;
        }
        let best = state.best.take();
        // Arrays count whole in the bounds.
        let less = |bound: fn(&Candidate) -> Option<u32>| {
            let best = best.as_ref()?;
            let saved = best.counts.temps.saturating_sub(counts.temps);
            Some(bound(best)?.saturating_sub(saved))
        };
        let (temps_bound, temps_channel_bound) =
            (less(|b| b.temps_bound), less(|b| b.temps_channel_bound));
        state.cost = cost;
        state.best = Some(Candidate {
            program,
            counts,
            cost,
            temps_bound,
            temps_channel_bound,
            instructions_bound: best.as_ref().and_then(|b| b.instructions_bound),
            rewriting: Rewriting::default(),
            origins: Origins::default(),
        });
        true
    }

    /// Whether the target takes the result wherever it took the input.
    fn acceptable(&self, result: &Program) -> bool {
        let target: &Target = &self.options.target;
        !target.virgl || tgsi_target::virgl_introduces(self.input, result).is_empty()
    }

    /// What decides in place of heuristics in this round.
    fn chaos(&self) -> Option<Chaos> {
        let seed = self.options.chaos?;
        Some(Chaos::new(seed).part(u64::from(self.round)))
    }

    /// The settings of passes.
    fn cx(&self) -> PassCx {
        let cx = PassCx {
            verify: self.options.verify_each,
            profile: self.options.profile,
            disabled_rules: self.disabled_rules.clone(),
            explain: self.options.explain,
            taken: Arc::clone(&self.taken),
            round: self.round,
            chaos: self.chaos(),
            last: LastSite::clone(&self.last),
            sabotage: match self.options.sabotage {
                Some(Fault::Pass(s)) => Some(s),
                _ => None,
            },
            ..PassCx::default()
        };
        cx.fuel.set(self.fuel);
        cx
    }

    /// The functions of which the cheapest program is taken: rewritten by rules, and as it is.
    fn variants(&mut self, f: Function) -> Vec<(Function, Rewriting)> {
        if !self.rewrites() {
            return vec![(f, Rewriting::default())];
        }
        let cx = self.cx();
        let level = self.level;
        let saturates = !self.skips(Stage::Saturation);
        let mut out = self.timed("egraph", |_| {
            let effort = match cx.chaos {
                Some(c) => chaos::effort(c),
                None if level == Level::O1 => egraph::QUICK,
                None => egraph::PLAIN,
            };
            let mut out = egraph::rewritten(&f, &cx, effort, &[egraph::MODEL]);
            if level == Level::O3 {
                out.extend(egraph::rewritten(
                    &f,
                    &cx,
                    egraph::DEEP,
                    &[egraph::MODEL, egraph::SHARED],
                ));
                let models = [egraph::MODEL, egraph::SHARED];
                out.extend(egraph::rewritten(&f, &cx, egraph::WIDE, &models));
                if saturates && f.values.len() <= MOST_SATURATED {
                    out.extend(egraph::saturated(&f, &cx, egraph::WIDE, &models));
                }
            }
            out
        });
        let granted = self.options.profile.grants(f.zero_wins);
        if level >= Level::O2
            && granted.includes(Contract::CONTRACT)
            && !self.options.disable.iter().any(|d| d == "mad-fuse")
            && let Some(fused) = tgsi_passes::run_pass("mad-fuse", &f, &cx)
        {
            let rewriting = Rewriting {
                contract: Contract::CONTRACT,
                ..Rewriting::default()
            };
            out.push((fused, rewriting));
        }
        self.spent(&cx);
        if out.is_empty() || level >= Level::O2 {
            out.push((f, Rewriting::default()));
        }
        out
    }

    /// A function in terms of what the target takes, as far as that goes, and what was not kept bit
    /// for bit.
    fn legal(&mut self, f: Function) -> (Function, Contract) {
        let chosen = self.options.passes.is_some();
        let disabled = self.options.disable.iter().any(|d| d == "legalize");
        if self.taken.everything() || chosen || disabled {
            return (f, Contract::EXACT);
        }
        let cx = self.cx();
        let start = (self.options.now)();
        let done = self.timed("legalize", |_| legalized(&f, &cx));
        let nanos = (self.options.now)().saturating_sub(start);
        self.spent(&cx);
        self.reason = done.reason.or(self.reason.take());
        let changed = done.function.is_some();
        let f = done.function.unwrap_or(f);
        self.tell("legalize", changed, nanos, &f);
        (f, done.contract)
    }

    fn clean(&mut self, f: Function) -> Result<Function, Fallback> {
        // What is going to be written otherwise may pass through anything.
        let free = !self.taken.everything() && !not_taken(&f, &self.taken).is_empty();
        let taken = if free {
            Arc::default()
        } else {
            Arc::clone(&self.taken)
        };
        self.cleaned(f, taken)
    }

    /// The function after the passes, which make nothing but what is `taken`.
    fn cleaned(&mut self, f: Function, taken: Arc<Taken>) -> Result<Function, Fallback> {
        let cx = PassCx { taken, ..self.cx() };
        let names: Vec<String> = match &self.options.passes {
            Some(list) => list.iter().map(|p| p.name.clone()).collect(),
            None => vec!["clean".to_owned()],
        };
        let mut f = f;
        for name in names {
            if self.options.disable.contains(&name) {
                continue;
            }
            let Some(pass) = tgsi_passes::registry::pass_named(&name) else {
                continue;
            };
            let start = (self.options.now)();
            let new = tgsi_passes::registry::run_pass(pass.name, &f, &cx);
            let nanos = (self.options.now)().saturating_sub(start);
            self.timed(pass.name, |_| ());
            if let Some(t) = self.times.iter_mut().find(|t| t.0 == pass.name) {
                t.1 += nanos;
            }
            let changed = new.is_some();
            if let Some(n) = new {
                f = n;
            }
            self.tell(pass.name, changed, nanos, &f);
        }
        self.spent(&cx);
        if let Some(fault) = cx.faults.borrow().first() {
            return Err(unverified("passes", fault.clone()));
        }
        Ok(f)
    }

    /// Steps of the exact search for fewer temporaries in one allocation. At -O2 they cost a tenth of
    /// the time and save 0.6 % of the temporaries.
    fn exact_steps(&self) -> u32 {
        match self.level {
            _ if self.skips(Stage::ExactSearch) => 0,
            Level::O0 | Level::O1 => 0,
            Level::O2 => 300,
            Level::O3 => 3_000,
        }
    }

    /// Restarts of one allocation.
    fn restarts(&self) -> u32 {
        if self.level == Level::O3 && !self.skips(Stage::Restarts) {
            4
        } else {
            0
        }
    }

    fn strategies(&self) -> &'static [Strategy] {
        if let Some(c) = self.chaos() {
            return chaos::strategies(c);
        }
        match self.level {
            Level::O0 | Level::O1 | Level::O2 => &[Strategy::Late],
            Level::O3 if self.skips(Stage::Orders) => &[Strategy::Late],
            Level::O3 => &[Strategy::Late, Strategy::Pressure, Strategy::Source],
        }
    }

    /// The highest level that fetches may have, where the target has few, or fewer than the program
    /// could reach.
    fn level_limit(&self, program: &Program) -> Option<u32> {
        let most = self.options.target.limits.indirections?.saturating_sub(1);
        let begins =
            |i: &&tgsi::Inst| i.op.info().shape == tgsi::Shape::Tex || i.op == tgsi::Opcode::KillIf;
        let fetches = program.insts.iter().filter(begins).count();
        let matters = fetches > 0 && most < FEW_NODES || fetches > most as usize;
        matters.then_some(most)
    }

    fn pack_options<'w>(
        &self,
        program: &Program,
        zero_wins: bool,
        whole_outputs: &'w [i32],
    ) -> Vec<PackOptions<'w>> {
        let merges = !self.skips(Stage::Merging);
        let base = PackOptions {
            whole_outputs,
            seed: 0,
            reach: if merges { u32::MAX } else { 0 },
            virgl: self.options.target.virgl,
            plain_coordinates: self.options.target.bare
                && self.options.target.operands.plain_coordinates,
            addresses: address_registers(program),
            indexed_reads: u32::MAX,
            mix: (self.level >= Level::O2 && !self.skips(Stage::Mixing)).then_some(zero_wins),
            level_limit: self.level_limit(program),
        };
        if let Some(c) = self.chaos() {
            return vec![chaos::packing(c, base)];
        }
        match self.level {
            // Other packings gain 0.006 % of the instructions for 20 % of the time: not below -O3.
            Level::O0 | Level::O1 | Level::O2 => vec![base],
            Level::O3 if !merges || self.skips(Stage::Packings) => vec![base],
            Level::O3 => vec![
                base,
                PackOptions {
                    reach: 40,
                    indexed_reads: 4,
                    ..base
                },
                PackOptions { seed: 1, ..base },
                PackOptions {
                    seed: 2,
                    reach: 80,
                    ..base
                },
            ],
        }
    }
}

/// Whether a program takes so many slots that nothing else helps it to fit.
fn too_many_slots(cost: &Cost, target: &Target) -> bool {
    let most = target.limits.instructions;
    most.is_some_and(|n| cost.limited_slots > n + n / 4)
}

/// Whether a program does not fit, but not for something that the target lacks, and not by far.
fn nearly_fits(cost: &Cost, target: &Target) -> bool {
    cost.misfit > 0 && cost.misfit < MISSING && !too_many_slots(cost, target)
}

/// How packs are ordered.
#[derive(Clone, Copy)]
enum Order {
    Plain(Strategy),
    /// By levels of fetches, up to the given one.
    Levels(Slack, u32),
}

/// From how many nodes on a target has more than nearly any program needs.
const FEW_NODES: u32 = 16;

/// How many nodes more than there must be are tried.
const MOST_NODES: u32 = 3;

/// The orders by levels that are tried where texture indirections are limited.
const SLACKS: [Slack; 4] = [Slack::Level, Slack::Fewer, Slack::Fetches, Slack::Nothing];

fn unsupported(stage: &str, reason: String) -> Fallback {
    Fallback {
        kind: FallbackKind::Unsupported,
        stage: stage.to_owned(),
        reason,
    }
}

fn unverified(stage: &str, reason: String) -> Fallback {
    Fallback {
        kind: FallbackKind::Unverified,
        stage: stage.to_owned(),
        reason,
    }
}

/// Whether a program with so many instructions or more costs more than `bound`.
fn too_long(instructions: u32, bound: &Cost) -> bool {
    bound.misfit == 0 && instructions > bound.instructions
}

/// Gives a program registers; nothing if its instructions and temporaries tell that it costs
/// more than `bound`.
fn allocate<'a>(draft: Draft<'a>, bound: &Cost) -> Result<Option<Lowering<'a>>, LowerError> {
    let instructions = draft.instructions();
    if too_long(instructions, bound) {
        return Ok(None);
    }
    let temps_decide = bound.misfit == 0
        && instructions == bound.instructions
        && bound.limited_slots == 0
        && bound.limited_indirections == 0;
    let most = temps_decide.then_some(bound.temps);
    let low = draft.allocate(most)?;
    Ok(low.filter(|low| most.is_none_or(|m| low.temps() <= m)))
}
