//! The machine: quads in lockstep between barriers, and what they share.

use tgsi::{File, Item, Opcode, Program, Stage};

use crate::code::{self, Code, Decoded, Kind, property_number};
use crate::eval::{Rules, Vec4};
use crate::flow::{self, Flow, Operands};
use crate::inputs::Inputs;
use crate::memops::default_words;
use crate::memory::{IMAGE_SIZE, Region, RegionKind};
use crate::outcome::{Flags, MaskedOutcome, MemoryEffect, Outcome, OutputReg, Word};
use crate::quad::{Quad, Reg, lanes};
use crate::rng;
use crate::sampler::{Sampler, SmoothSampler};

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Instructions that one quad may execute.
    pub step_limit: u64,
    /// Seed of the words that unwritten registers hold. 0 fills them with zeros.
    pub fill: u64,
    /// Invocations of a work group that are run at most.
    pub max_invocations: u32,
    /// Whether the definitions of the first era hold. `None`: as the header and the opcodes say.
    pub first_era: Option<bool>,
    /// Lists stores and atomics in the outcome.
    pub log_effects: bool,
    /// Runs one lane at a time, as programs with `BRA` always do. Derivatives are 0 then.
    pub lane_by_lane: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            step_limit: 100_000,
            fill: 1,
            max_invocations: 1024,
            first_era: None,
            log_effects: false,
            lane_by_lane: false,
        }
    }
}

/// What all quads of a run share.
pub(crate) struct Machine<'a> {
    pub(crate) code: &'a Code,
    pub(crate) inputs: &'a Inputs,
    pub(crate) sampler: &'a dyn Sampler,
    pub(crate) rules: Rules,
    pub(crate) fill: u64,
    pub(crate) flags: Flags,
    pub(crate) memory: Vec<Region>,
    /// Constants and immediates.
    pub(crate) uniform: Vec<Vec4>,
    /// Outputs of a patch.
    pub(crate) shared: Vec<Reg>,
    /// For each piece of memory, whether it starts with unknown words.
    pub(crate) unknown_memory: Vec<bool>,
    /// Stores and atomics, if they are wanted.
    pub(crate) effects: Option<Vec<MemoryEffect>>,
    /// Emitted vectors that may still be kept.
    pub(crate) emit_budget: u32,
    pub(crate) clock: u64,
    pub(crate) max_vertices: u32,
}

impl Machine<'_> {
    /// The number of a piece of memory.
    pub(crate) fn region(&self, kind: RegionKind, index: i32) -> Option<usize> {
        self.memory
            .iter()
            .position(|r| (r.kind, r.index) == (kind, index))
    }
}

/// Why a quad stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    End,
    Barrier,
    Limit,
}

/// Runs a program with the built-in textures.
pub fn run(program: &Program, inputs: &Inputs, options: &RunOptions) -> Outcome {
    run_with(program, inputs, options, &SmoothSampler)
}

/// Runs a program with textures of the caller's.
pub fn run_with(
    program: &Program,
    inputs: &Inputs,
    options: &RunOptions,
    sampler: &dyn Sampler,
) -> Outcome {
    run_code(
        &Prepared::new(program, inputs.vertices),
        inputs,
        options,
        sampler,
    )
}

/// Runs a program once for each fill (the seed of `options` is not used) and keeps the
/// words that are written and the same in all runs. One run is enough if it reads
/// nothing that is unwritten.
pub fn run_masked(
    program: &Program,
    inputs: &Inputs,
    options: &RunOptions,
    fills: &[u64],
) -> MaskedOutcome {
    masked(
        &Prepared::new(program, inputs.vertices),
        inputs,
        options,
        fills,
        false,
    )
}

/// [`run_masked`] of a decoded program; `nans` as in [`MaskedOutcome::join`].
pub(crate) fn masked(
    prepared: &Prepared,
    inputs: &Inputs,
    options: &RunOptions,
    fills: &[u64],
    nans: bool,
) -> MaskedOutcome {
    let go = |fill: u64| {
        run_code(
            prepared,
            inputs,
            &RunOptions { fill, ..*options },
            &SmoothSampler,
        )
    };
    let mut result = MaskedOutcome::from_run(&go(fills.first().copied().unwrap_or(1)));
    for fill in fills.iter().skip(1) {
        let flags = result.outcome.flags;
        // A run that read no unknown word comes out the same under every fill.
        let stopped = flags.step_limit || flags.wrote_out_of_array || flags.malformed;
        if !(flags.read_unset || flags.free_nan) || stopped {
            break;
        }
        result.join(&go(*fill), nans);
    }
    result
}

/// A decoded program and what its header says about running it.
pub(crate) struct Prepared {
    pub(crate) code: Code,
    pub(crate) branches: bool,
    resources: Vec<Resource>,
    invocations: u32,
    block: [u32; 3],
    max_vertices: u32,
}

struct Resource {
    kind: RegionKind,
    index: i32,
    words: usize,
    /// Only the work group sees it, and it starts with unknown words.
    group: bool,
}

impl Prepared {
    pub(crate) fn new(program: &Program, vertices: u32) -> Prepared {
        let vertices = if vertices == 0 {
            code::input_vertices(program)
        } else {
            vertices.min(64)
        };
        let size = |name| property_number(program, name).filter(|n| *n > 0);
        let block = [
            size("CS_FIXED_BLOCK_WIDTH").unwrap_or(4),
            size("CS_FIXED_BLOCK_HEIGHT").unwrap_or(1),
            size("CS_FIXED_BLOCK_DEPTH").unwrap_or(1),
        ];
        let invocations = match program.stage {
            Stage::Comp => block.iter().fold(1u32, |a, b| a.saturating_mul(*b)),
            Stage::TessCtrl => code::patch_vertices(program),
            _ => 4,
        };
        Prepared {
            code: Code::new(program, vertices),
            branches: flow::has_branches(program),
            resources: resources(program),
            invocations,
            block,
            max_vertices: property_number(program, "GS_MAX_OUTPUT_VERTICES")
                .unwrap_or(1024)
                .min(4096),
        }
    }
}

/// Output registers that a run's emitted vertices may hold in all.
const MAX_EMITTED: u32 = 1 << 18;
/// Registers of all quads together.
const MAX_QUAD_REGISTERS: u64 = 1 << 22;
/// Pieces of memory.
const MAX_RESOURCES: usize = 256;

/// Words of a buffer, of shared memory.
const BUFFER_WORDS: usize = 128;
const SHARED_WORDS: usize = 8192;
const MAX_COUNTERS: i32 = 1024;

/// Kind and number of words of the memory behind a file.
fn memory_of(file: File) -> Option<(RegionKind, usize)> {
    let image = 4 * IMAGE_SIZE.iter().product::<u32>() as usize;
    Some(match file {
        File::Buffer => (RegionKind::Buffer, BUFFER_WORDS),
        File::Image => (RegionKind::Image, image),
        File::Memory => (RegionKind::Memory, SHARED_WORDS),
        File::Res => (RegionKind::Resource, BUFFER_WORDS),
        _ => return None,
    })
}

fn resources(program: &Program) -> Vec<Resource> {
    let mut list: Vec<Resource> = Vec::new();
    let mut add = |kind, index, words, group| {
        let room = list.len() < MAX_RESOURCES;
        match list
            .iter_mut()
            .find(|r: &&mut Resource| (r.kind, r.index) == (kind, index))
        {
            Some(r) => r.words = r.words.max(words),
            None if room => list.push(Resource {
                kind,
                index,
                words,
                group,
            }),
            None => {}
        }
    };
    for item in &program.header {
        let Item::Decl(d) = item else {
            continue;
        };
        if d.file == File::HwAtomic {
            let words = d.last.clamp(0, MAX_COUNTERS) as usize + 1;
            add(
                RegionKind::Counter,
                d.dim.flatten().unwrap_or(0),
                words,
                false,
            );
        }
        if let Some((kind, words)) = memory_of(d.file) {
            let group = d.file == File::Memory && d.memory.as_deref() != Some("GLOBAL");
            for index in d.first..=d.last.min(d.first.saturating_add(255)) {
                add(kind, index, words, group);
            }
        }
    }
    // Memory that is used under another number than it is declared, as Mesa's own text does.
    for inst in &program.insts {
        for reg in inst
            .srcs
            .iter()
            .map(|s| s.reg)
            .chain(inst.dsts.iter().map(|d| d.reg))
        {
            if let Some((kind, words)) = memory_of(reg.file)
                && !reg.is_indirect()
            {
                add(kind, reg.index.base, words, kind == RegionKind::Memory);
            }
        }
    }
    list.sort_by_key(|r| (r.kind, r.index));
    list
}

pub(crate) fn run_code(
    prepared: &Prepared,
    inputs: &Inputs,
    options: &RunOptions,
    sampler: &dyn Sampler,
) -> Outcome {
    let code = &prepared.code;
    let mut m = Machine {
        code,
        inputs,
        sampler,
        rules: Rules {
            first_era: options.first_era.unwrap_or(code.rules.first_era),
            ..code.rules
        },
        fill: options.fill,
        flags: Flags {
            malformed: code.malformed,
            ..Flags::default()
        },
        memory: initial_memory(prepared, inputs, options.fill),
        uniform: uniform(prepared, inputs),
        shared: Vec::new(),
        unknown_memory: prepared.resources.iter().map(|r| r.group).collect(),
        effects: options.log_effects.then(Vec::new),
        emit_budget: MAX_EMITTED,
        clock: 0,
        max_vertices: prepared.max_vertices,
    };
    m.shared = shared_outputs(&m);
    let invocations = prepared
        .invocations
        .clamp(1, options.max_invocations.max(1));
    let per_quad = u64::from(code.slots - code.uniform);
    m.flags.malformed |= per_quad * u64::from(invocations.div_ceil(4)) > MAX_QUAD_REGISTERS;
    let invocations = if m.flags.malformed { 1 } else { invocations };
    let mut quads: Vec<Quad> = (0..invocations.div_ceil(4))
        .map(|n| new_quad(&m, prepared, 4 * n, (invocations - 4 * n).min(4)))
        .collect();
    if !m.flags.malformed {
        run_quads(&mut m, &mut quads, prepared, options);
    }
    outcome(m, prepared, &quads)
}

fn initial_memory(prepared: &Prepared, inputs: &Inputs, fill: u64) -> Vec<Region> {
    let word = |bits| Word {
        bits,
        ..Word::default()
    };
    let region = |r: &Resource| {
        let given = inputs.memory(r.kind, r.index);
        let words: Vec<u32> = match given {
            Some(words) => words.to_vec(),
            None if r.group => {
                let place = rng::hash(&[0x5a, r.index as u64]);
                (0..r.words)
                    .map(|i| rng::fill_word(fill, place.wrapping_add(i as u64)))
                    .collect()
            }
            None => default_words(inputs.seed, r.kind, r.index, r.words),
        };
        Region {
            kind: r.kind,
            index: r.index,
            words: words.into_iter().map(word).collect(),
        }
    };
    prepared.resources.iter().map(region).collect()
}

/// A register that nobody has written: unknown words, differing by register, channel and lane.
fn unknown(fill: u64, file: File, row: Option<i32>, index: i32) -> Reg {
    let place = rng::hash(&[
        file as u64,
        row.map_or(u64::MAX, |r| r as u64),
        index as u64,
    ]);
    Reg {
        words: std::array::from_fn(|l| {
            std::array::from_fn(|c| {
                rng::fill_word(fill, place.wrapping_add(4 * l as u64 + c as u64))
            })
        }),
        made: [0; 4],
        written: [0; 4],
    }
}

fn is_scratch(file: File) -> bool {
    matches!(
        file,
        File::Temp | File::Out | File::Addr | File::Pred | File::Loop
    )
}

/// Constants and immediates. A constant that differs by lane in the inputs counts as lane 0's.
fn uniform(prepared: &Prepared, inputs: &Inputs) -> Vec<Vec4> {
    let code = &prepared.code;
    let mut regs = vec![[0; 4]; code.uniform as usize];
    for (file, row, index, slot) in code.named.iter().filter(|n| n.0 == File::Const) {
        if let (Some(reg), Some(words)) = (
            regs.get_mut(*slot as usize),
            inputs.get(*file, *row, *index),
        ) {
            *reg = words[0];
        }
    }
    for (i, words) in code.imms.iter().enumerate() {
        if let Some(slot) = code.slot(File::Imm, None, i as i32) {
            regs[slot as usize] = *words;
        }
    }
    regs
}

fn shared_outputs(m: &Machine) -> Vec<Reg> {
    let range = m.code.shared.clone();
    let mut regs = vec![Reg::default(); range.len()];
    for (file, row, index, slot) in &m.code.named {
        if *file == File::Out && range.contains(slot) {
            regs[(slot - range.start) as usize] = unknown(m.fill, *file, *row, *index);
        }
    }
    regs
}

fn new_quad(m: &Machine, prepared: &Prepared, first_lane: u32, count: u32) -> Quad {
    let code = m.code;
    let mut regs = vec![Reg::default(); (code.slots - code.uniform) as usize];
    for (file, row, index, slot) in &code.named {
        let Some(reg) = slot
            .checked_sub(code.uniform)
            .and_then(|s| regs.get_mut(s as usize))
        else {
            continue;
        };
        if !is_scratch(*file) {
            reg.written = [0xf; 4];
        }
        if let Some(words) = m.inputs.get(*file, *row, *index) {
            reg.words = *words;
            reg.written = [0xf; 4];
        } else if is_scratch(*file) {
            *reg = unknown(m.fill, *file, *row, *index);
        }
    }
    for value in &prepared.code.system_values {
        if m.inputs.get(File::Sv, None, value.index).is_none()
            && let Some(slot) = code.slot(File::Sv, None, value.index)
        {
            regs[(slot - code.uniform) as usize].words =
                std::array::from_fn(|l| value.words(first_lane + l as u32, prepared.block));
        }
    }
    let launched = (1u8 << count) - 1;
    Quad {
        regs,
        flow: Flow {
            pc: code.entry,
            exec: launched,
            ..Flow::default()
        },
        launched,
        killed: 0,
        steps: 0,
        address_stack: Default::default(),
        emitted: Default::default(),
        first_lane,
    }
}

/// Runs the quads round by round: each until it ends or meets a barrier.
fn run_quads(m: &mut Machine, quads: &mut [Quad], prepared: &Prepared, options: &RunOptions) {
    let one_by_one = prepared.branches || options.lane_by_lane;
    loop {
        let mut waiting = false;
        for quad in quads.iter_mut().filter(|q| !q.flow.done) {
            let stop = if one_by_one {
                run_lanes(m, quad, options)
            } else {
                run_quad(m, quad, options)
            };
            match stop {
                Stop::End => quad.flow.done = true,
                Stop::Barrier => waiting = true,
                Stop::Limit => {
                    m.flags.step_limit = true;
                    return;
                }
            }
        }
        if !waiting {
            return;
        }
    }
}

/// Runs each lane of a quad to its end; barriers mean nothing then.
fn run_lanes(m: &mut Machine, quad: &mut Quad, options: &RunOptions) -> Stop {
    let start = quad.flow.clone();
    for lane in lanes(start.exec) {
        quad.flow = Flow {
            exec: 1 << lane,
            ..start.clone()
        };
        loop {
            match run_quad(m, quad, options) {
                Stop::Barrier => {}
                Stop::End => break,
                Stop::Limit => return Stop::Limit,
            }
        }
    }
    Stop::End
}

fn run_quad(m: &mut Machine, quad: &mut Quad, options: &RunOptions) -> Stop {
    let code = m.code;
    loop {
        let Some(inst) = code.insts.get(quad.flow.pc as usize) else {
            return Stop::End;
        };
        if inst.kind == Kind::Flow {
            quad.steps += 1;
            let operands = flow_operands(m, quad, inst);
            quad.flow.step(code, operands);
            if quad.flow.overflow {
                return Stop::Limit;
            }
            if quad.flow.done {
                return Stop::End;
            }
        } else {
            quad.flow.pc += 1;
            if quad.flow.exec != 0 {
                quad.steps += 1;
                if execute(m, quad, inst) == Stop::Barrier {
                    return Stop::Barrier;
                }
            }
        }
        if quad.steps > options.step_limit {
            return Stop::Limit;
        }
    }
}

fn execute(m: &mut Machine, quad: &mut Quad, inst: &Decoded) -> Stop {
    match inst.kind {
        Kind::Value => quad.value(m, inst),
        Kind::Texture => quad.texture(m, inst),
        Kind::Memory => quad.memory(m, inst),
        Kind::Quad => quad.across(m, inst),
        Kind::Kill => quad.kill(m, inst),
        Kind::Emit => quad.emit(m, inst),
        Kind::AddressStack => quad.address_stack(m, inst),
        Kind::Barrier => {
            if matches!(m.code.stage, Stage::Comp | Stage::TessCtrl) {
                return Stop::Barrier;
            }
        }
        Kind::Flow | Kind::Nop => {}
    }
    Stop::End
}

/// What the operands of a flow instruction say. `BGNFOR` and `ENDFOR` also update their register.
fn flow_operands(m: &mut Machine, quad: &mut Quad, inst: &Decoded) -> Operands {
    let mut result = Operands::default();
    if inst.op == Opcode::Endfor {
        for lane in lanes(quad.flow.at_loop_end()) {
            advance_counter(m, quad, inst, lane, &mut result);
        }
        return result;
    }
    if inst.srcs.is_empty() {
        return result;
    }
    // `CASE` compares for lanes that do not execute yet.
    let active = if inst.op == Opcode::Case {
        quad.launched
    } else {
        quad.flow.exec
    };
    for lane in lanes(active) {
        let words = quad.src(m, inst, 0, lane);
        let x = f32::from_bits(words[0]);
        let taken = match inst.op {
            Opcode::Uif => words[0] != 0,
            Opcode::Rep => x >= 1.0,
            Opcode::Bgnfor => {
                let counter = words.map(|w| f32::from_bits(w).floor());
                let value = crate::quad::Fetched {
                    words: counter.map(f32::to_bits),
                    made: 0xf,
                };
                quad.store(m, inst, 0, lane, 7, value);
                counter[1] > 0.0
            }
            _ => x != 0.0,
        };
        result.taken |= u8::from(taken) << lane;
        result.value[lane] = words[0];
        result.count[lane] = if taken { x.trunc() as i64 } else { 0 };
    }
    result
}

/// `d.x += d.z; d.y -= 1`, and whether the loop goes on.
fn advance_counter(
    m: &mut Machine,
    quad: &mut Quad,
    inst: &Decoded,
    lane: usize,
    result: &mut Operands,
) {
    let Some(dst) = inst.dsts.first() else {
        return;
    };
    let src = code::SrcRef {
        loc: dst.loc.clone(),
        file: dst.file,
        swizzle: tgsi::XYZW,
        used: 7,
        abs: false,
        negate: code::Negate::No,
    };
    let [x, y, z, w] = quad.fetch(m, &src, lane).words.map(f32::from_bits);
    let (x, y) = (x + z, y - 1.0);
    let value = crate::quad::Fetched {
        words: [x, y, z, w].map(f32::to_bits),
        made: 0xf,
    };
    quad.store(m, inst, 0, lane, 3, value);
    result.taken |= u8::from(y > 0.0) << lane;
}

fn outcome(m: Machine, prepared: &Prepared, quads: &[Quad]) -> Outcome {
    let code = m.code;
    let outs = code.named.iter().filter(|n| n.0 == File::Out);
    let outputs = match code.stage {
        Stage::Geom | Stage::Comp => Vec::new(),
        Stage::TessCtrl => outs
            .map(|(_, dim, index, slot)| OutputReg {
                dim: *dim,
                index: *index,
                lanes: vec![m.shared[(slot - code.shared.start) as usize].lane(0)],
            })
            .collect(),
        _ => outs
            .map(|(_, dim, index, slot)| OutputReg {
                dim: *dim,
                index: *index,
                lanes: (0..4)
                    .map(|l| quads[0].regs[(slot - code.uniform) as usize].lane(l))
                    .collect(),
            })
            .collect(),
    };
    let is_geom = code.stage == Stage::Geom;
    let plain_outs = code
        .named
        .iter()
        .filter(|n| is_geom && n.0 == File::Out && n.1.is_none());
    let kill = quads
        .iter()
        .take(16)
        .fold(0u64, |k, q| k | u64::from(q.killed) << q.first_lane.min(63));
    let visible: Vec<bool> = prepared.resources.iter().map(|r| !r.group).collect();
    Outcome {
        outputs,
        emitted_regs: plain_outs.map(|n| n.2).collect(),
        emitted: quads
            .iter()
            .flat_map(|q| q.emitted.iter().flatten().cloned())
            .collect(),
        kill,
        memory: m
            .memory
            .into_iter()
            .zip(visible)
            .filter_map(|(r, v)| v.then_some(r))
            .collect(),
        effects: m.effects.unwrap_or_default(),
        flags: m.flags,
        steps: quads.iter().map(|q| q.steps).sum(),
    }
}
