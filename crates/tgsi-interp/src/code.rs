//! A program decoded for execution: registers as slots, structure as jump targets.

use smallvec::SmallVec;
use tgsi::{
    AddrReg, Dst, File, Index, Inst, Item, Opcode, Program, Register, Src, Stage, TexTarget, Ty,
};

use crate::eval::Rules;
use crate::eval64;
use crate::memory::format_channels;

/// A run of slots.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bank {
    pub(crate) base: u32,
    pub(crate) len: u32,
}

/// The slots of one file: those without an outer bracket, and one row for each outer index.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileBanks {
    pub(crate) plain: Bank,
    pub(crate) rows: Vec<Bank>,
}

const FILES: usize = File::Loop as usize + 1;

/// A bracket: a constant and perhaps a register slot's channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexRef {
    pub(crate) base: i32,
    pub(crate) addr: Option<AddrRef>,
}

/// The register in a bracket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddrRef {
    pub(crate) slot: u32,
    pub(crate) comp: u8,
    /// The register holds a float (the `LOOP` file).
    pub(crate) float: bool,
}

/// A register whose slot is known at run time only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indirect {
    pub(crate) file: File,
    pub(crate) dim: Option<IndexRef>,
    pub(crate) index: IndexRef,
    /// The declared array's first and last register.
    pub(crate) first: i32,
    pub(crate) last: i32,
}

/// Where an operand is.
#[derive(Clone, Debug)]
pub(crate) enum Loc {
    /// Nowhere: `NULL`.
    None,
    Slot(u32),
    Indirect(Box<Indirect>),
    /// A sampler, buffer, image...: only its number matters.
    Resource(Box<Indirect>),
}

/// How a source is negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Negate {
    No,
    Float,
    Int,
}

#[derive(Clone, Debug)]
pub(crate) struct SrcRef {
    pub(crate) loc: Loc,
    pub(crate) file: File,
    pub(crate) swizzle: [u8; 4],
    /// The channels, after the swizzle, that matter.
    pub(crate) used: u8,
    pub(crate) abs: bool,
    pub(crate) negate: Negate,
}

#[derive(Clone, Debug)]
pub(crate) struct DstRef {
    pub(crate) loc: Loc,
    pub(crate) file: File,
    pub(crate) mask: u8,
}

/// What a result is made by, for the freedom of NaN payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Float,
    Double,
    /// Copied from source 0.
    Copy,
    /// Selected from source 1 or 2 by source 0.
    Select,
    /// Of bits that may be those of a float: a selection written as a mask.
    Bits,
    Other,
}

/// What executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Value,
    Flow,
    Texture,
    Memory,
    /// Reads other lanes or state.
    Quad,
    Kill,
    Emit,
    Barrier,
    AddressStack,
    Nop,
}

/// Texture facts of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TexRef {
    pub(crate) target: TexTarget,
    pub(crate) integer: crate::sampler::IntegerResult,
}

#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub(crate) op: Opcode,
    pub(crate) kind: Kind,
    pub(crate) sat: bool,
    pub(crate) made: Made,
    pub(crate) dsts: SmallVec<[DstRef; 1]>,
    pub(crate) srcs: SmallVec<[SrcRef; 3]>,
    /// The channels of the first destination that are written.
    pub(crate) written: u8,
    /// The other end of a construct, or a jump's target.
    pub(crate) jump: u32,
    /// `SWITCH`: its `DEFAULT`, or its own end. `DEFAULT`: 1 if a `CASE` follows.
    pub(crate) aux: u32,
    pub(crate) tex: Option<TexRef>,
    pub(crate) offsets: SmallVec<[SrcRef; 0]>,
    pub(crate) format_channels: usize,
    /// Target of an image access.
    pub(crate) image: TexTarget,
}

/// A register with a name: file, outer bracket, number, slot.
pub(crate) type Named = (File, Option<i32>, i32, u32);

#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) stage: Stage,
    pub(crate) insts: Vec<Decoded>,
    pub(crate) entry: u32,
    pub(crate) files: [FileBanks; FILES],
    pub(crate) slots: u32,
    pub(crate) imms: Vec<[u32; 4]>,
    pub(crate) rules: Rules,
    pub(crate) malformed: bool,
    /// Registers that the text names or declares: file, row, register, slot.
    pub(crate) named: Vec<Named>,
    /// System values that follow from an invocation's number.
    pub(crate) system_values: Vec<SystemValue>,
    /// Slots below this one are constants and immediates, the same in every lane.
    pub(crate) uniform: u32,
    /// The slots that all invocations of a patch share.
    pub(crate) shared: std::ops::Range<u32>,
}

impl Code {
    /// Decodes a program for primitives or patches of `vertices` vertices.
    pub(crate) fn new(program: &Program, vertices: u32) -> Code {
        let mut layout = Layout::new(program, vertices);
        let (files, slots, uniform) = layout.assign();
        let out = &files[File::Out as usize];
        let shared = match program.stage {
            Stage::TessCtrl => span(out),
            _ => 0..0,
        };
        let mut code = Code {
            stage: program.stage,
            insts: Vec::with_capacity(program.insts.len()),
            entry: 0,
            files,
            slots,
            imms: immediates(program),
            rules: rules(program),
            malformed: layout.too_large,
            uniform,
            named: Vec::new(),
            system_values: system_values(program),
            shared,
        };
        code.named = layout.named(&code.files);
        let insts: Vec<Decoded> = program
            .insts
            .iter()
            .map(|i| code.decode(program, i))
            .collect();
        code.insts = insts;
        crate::flow::link(&mut code, program);
        code
    }

    /// The slot of a register, `None` outside of the file.
    pub(crate) fn slot(&self, file: File, dim: Option<i32>, index: i32) -> Option<u32> {
        let banks = &self.files[file as usize];
        let bank = match (file, dim) {
            (File::Const, None) => banks.rows.first()?,
            (_, None) => &banks.plain,
            (_, Some(d)) => banks.rows.get(usize::try_from(d).ok()?)?,
        };
        let index = u32::try_from(index).ok()?;
        (index < bank.len).then(|| bank.base + index)
    }

    fn index_ref(&self, index: Index) -> IndexRef {
        let addr = index.addr.and_then(|a: AddrReg| {
            let slot = self.slot(a.file, None, a.index)?;
            Some(AddrRef {
                slot,
                comp: a.comp & 3,
                float: a.file == File::Loop,
            })
        });
        IndexRef {
            base: index.base,
            addr,
        }
    }

    fn loc(&self, program: &Program, reg: &Register) -> Loc {
        if reg.file == File::Null {
            return Loc::None;
        }
        let resource = tgsi::usage::is_resource(reg.file);
        if !resource
            && !reg.is_indirect()
            && let Some(slot) = self.slot(reg.file, reg.dim.map(|d| d.base), reg.index.base)
        {
            return Loc::Slot(slot);
        }
        let (first, last) = array_range(program, reg);
        let indirect = Box::new(Indirect {
            file: reg.file,
            dim: reg.dim.map(|d| self.index_ref(d)),
            index: self.index_ref(reg.index),
            first,
            last,
        });
        if resource {
            Loc::Resource(indirect)
        } else {
            Loc::Indirect(indirect)
        }
    }

    fn src(&self, program: &Program, src: &Src, ty: Ty, used: u8) -> SrcRef {
        let float = ty.is_float_modifier();
        let negate = match (src.neg, ty) {
            (false, _) | (_, Ty::D | Ty::I64 | Ty::U64) => Negate::No,
            _ if float => Negate::Float,
            _ => Negate::Int,
        };
        SrcRef {
            loc: self.loc(program, &src.reg),
            file: src.reg.file,
            swizzle: src.swizzle.map(|c| c & 3),
            used,
            abs: src.abs && float,
            negate,
        }
    }

    fn dst(&self, program: &Program, dst: &Dst) -> DstRef {
        DstRef {
            loc: self.loc(program, &dst.reg),
            file: dst.reg.file,
            mask: dst.mask & 15,
        }
    }

    fn decode(&self, program: &Program, inst: &Inst) -> Decoded {
        let info = inst.op.info();
        let written = eval64::written_mask(inst.op, inst.dsts.first().map_or(0, |d| d.mask & 15));
        let ty = |i: usize| info.src_ty.get(i).copied().unwrap_or(Ty::Any);
        let srcs: SmallVec<[SrcRef; 3]> = inst
            .srcs
            .iter()
            .enumerate()
            .map(|(i, s)| self.src(program, s, ty(i), tgsi::usage::src_mask(inst, i, written)))
            .collect();
        let dsts: SmallVec<[DstRef; 1]> = inst.dsts.iter().map(|d| self.dst(program, d)).collect();
        let kind = kind(inst.op);
        let offsets = inst.offsets.iter().map(|o| {
            let [x, y, z] = o.swizzle;
            let src = Src {
                reg: o.reg,
                swizzle: [x, y, z, z],
                abs: false,
                neg: false,
                span: inst.span,
            };
            self.src(program, &src, Ty::I, 7)
        });
        Decoded {
            op: inst.op,
            kind,
            sat: inst.sat,
            made: made(inst, &srcs),
            written,
            jump: 0,
            aux: 0,
            tex: (kind == Kind::Texture).then(|| tex_ref(program, inst)),
            offsets: offsets.collect(),
            format_channels: image_channels(program, inst),
            image: image_target(program, inst),
            dsts,
            srcs,
        }
    }
}

/// A system value that follows from an invocation's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemValue {
    pub(crate) index: i32,
    kind: Numbered,
}

#[derive(Clone, Copy, Debug)]
enum Numbered {
    Thread,
    Block,
    Invocation,
}

impl SystemValue {
    /// Its words in invocation `number` of a work group of the size `block`.
    pub(crate) fn words(&self, number: u32, block: [u32; 3]) -> [u32; 4] {
        let [w, h, d] = block;
        match self.kind {
            Numbered::Thread => [number % w, number / w % h, number / w / h, 0],
            Numbered::Block => [w, h, d, 0],
            Numbered::Invocation => [number; 4],
        }
    }
}

fn system_values(program: &Program) -> Vec<SystemValue> {
    let value = |item: &Item| {
        let Item::Decl(d) = item else {
            return None;
        };
        let kind = match (d.file, d.semantic.as_ref()?.name.as_str(), program.stage) {
            (File::Sv, "THREAD_ID", _) => Numbered::Thread,
            (File::Sv, "BLOCK_SIZE", _) => Numbered::Block,
            (File::Sv, "INVOCATIONID", Stage::TessCtrl) => Numbered::Invocation,
            _ => return None,
        };
        Some(SystemValue {
            index: d.first,
            kind,
        })
    };
    program.header.iter().filter_map(value).collect()
}

/// The slot behind a file's last.
fn next_slot(banks: &FileBanks) -> u32 {
    let ends = banks
        .rows
        .iter()
        .chain([&banks.plain])
        .map(|b| b.base.saturating_add(b.len));
    ends.max().unwrap_or(0)
}

/// From the first to the last slot of a file.
fn span(banks: &FileBanks) -> std::ops::Range<u32> {
    let all = || {
        banks
            .rows
            .iter()
            .chain([&banks.plain])
            .filter(|b| b.len > 0)
    };
    let start = all().map(|b| b.base).min().unwrap_or(0);
    let end = all().map(|b| b.base + b.len).max().unwrap_or(0);
    start..end
}

fn immediates(program: &Program) -> Vec<[u32; 4]> {
    let imm = |i: &Item| match i {
        Item::Imm(imm) => Some(imm.words),
        _ => None,
    };
    program.header.iter().filter_map(imm).collect()
}

/// A property's first value.
pub(crate) fn property<'a>(program: &'a Program, name: &str) -> Option<&'a str> {
    program.header.iter().find_map(|i| match i {
        Item::Property(p) if p.name == name => p.values.first().map(String::as_str),
        _ => None,
    })
}

/// A property's first value as a number.
pub(crate) fn property_number(program: &Program, name: &str) -> Option<u32> {
    property(program, name)?.parse().ok()
}

fn rules(program: &Program) -> Rules {
    let on = |name| property(program, name).is_some_and(|v| v != "0");
    Rules {
        first_era: program.version.is_some()
            || program
                .insts
                .iter()
                .any(|i| i.op.info().era == tgsi::Era::First),
        zero_wins: on("MUL_ZERO_WINS") || on("LEGACY_MATH_RULES"),
    }
}

/// The declared range that an index must stay in: the array of its id, or the file.
fn array_range(program: &Program, reg: &Register) -> (i32, i32) {
    let array = reg.index.array;
    let declared = program.header.iter().find_map(|i| match i {
        Item::Decl(d) if array != 0 && d.file == reg.file && d.array == array => {
            Some((d.first, d.last))
        }
        _ => None,
    });
    declared.unwrap_or((0, i32::MAX))
}

fn made(inst: &Inst, srcs: &[SrcRef]) -> Made {
    let modified = |i: usize| {
        srcs.get(i)
            .is_some_and(|s| s.abs || s.negate == Negate::Float)
    };
    let wide = eval64::is_wide_result(inst.op);
    match inst.op {
        _ if inst.sat => {
            if wide {
                Made::Double
            } else {
                Made::Float
            }
        }
        Opcode::Mov | Opcode::Swz | Opcode::ReadFirst | Opcode::ReadInvoc if modified(0) => {
            Made::Float
        }
        Opcode::Mov | Opcode::Swz | Opcode::ReadFirst | Opcode::ReadInvoc | Opcode::Uarl => {
            Made::Copy
        }
        Opcode::Ucmp | Opcode::Cmp => Made::Select,
        Opcode::And | Opcode::Or | Opcode::Xor => Made::Bits,
        Opcode::Umin | Opcode::Umax | Opcode::Imin | Opcode::Imax => Made::Bits,
        op => match op.info().dst_ty {
            Ty::F => Made::Float,
            Ty::D => Made::Double,
            _ => Made::Other,
        },
    }
}

fn kind(op: Opcode) -> Kind {
    use Opcode::*;
    match op {
        If | Uif | Ifc | Else | Endif | Bgnloop | Endloop | Rep | Endrep | Bgnfor | Endfor
        | Brk | Breakc | Cont | Switch | Case | Default | Endswitch | Cal | Callnz | Ret
        | Bgnsub | Endsub | Bra | End => Kind::Flow,
        Kill | KillIf | Demote => Kind::Kill,
        Emit | Endprim => Kind::Emit,
        Barrier => Kind::Barrier,
        Membar | Nop => Kind::Nop,
        Pusha | Popa => Kind::AddressStack,
        Ddx | Ddy | DdxFine | DdyFine | ReadInvoc | ReadFirst | VoteAny | VoteAll | VoteEq
        | Ballot | InterpCentroid | InterpSample | InterpOffset | Fbfetch | Clock | ReadHelper
        | Dfracexp | Img2hnd | Samp2hnd | Ara => Kind::Quad,
        _ => match op.info().shape {
            tgsi::Shape::Tex => Kind::Texture,
            tgsi::Shape::Mem => Kind::Memory,
            _ => Kind::Value,
        },
    }
}

fn tex_ref(program: &Program, inst: &Inst) -> TexRef {
    use crate::sampler::IntegerResult;
    let unit = inst
        .srcs
        .iter()
        .find(|s| matches!(s.reg.file, File::Samp | File::Sview | File::Res));
    let view = unit.and_then(|u| {
        program.header.iter().find_map(|i| match i {
            Item::Decl(d) if matches!(d.file, File::Sview | File::Res) => {
                (d.first <= u.reg.index.base && u.reg.index.base <= d.last).then_some(d)
            }
            _ => None,
        })
    });
    let sview = inst.srcs.iter().any(|s| s.reg.file == File::Sview);
    let declared = view.and_then(|v| v.target);
    let target = if sview {
        declared.or(inst.target)
    } else {
        inst.target.or(declared)
    };
    let integer = match view
        .and_then(|v| v.return_types.first())
        .map(String::as_str)
    {
        Some("UINT") => IntegerResult::Unsigned,
        Some("SINT") => IntegerResult::Signed,
        _ => IntegerResult::No,
    };
    TexRef {
        target: target.unwrap_or(TexTarget::Unknown),
        integer,
    }
}

/// The declaration of the image that an instruction accesses, if it is one.
fn image<'a>(program: &'a Program, inst: &Inst) -> Option<&'a tgsi::Decl> {
    let is_image = |r: &Register| r.file == File::Image;
    let source = inst.srcs.first().map(|s| s.reg).filter(is_image);
    let reg = source.or_else(|| inst.dsts.first().map(|d| d.reg).filter(is_image))?;
    program.header.iter().find_map(|i| match i {
        Item::Decl(d) if d.file == File::Image && (d.first..=d.last).contains(&reg.index.base) => {
            Some(d)
        }
        _ => None,
    })
}

/// The number of channels of the image that an instruction accesses.
fn image_channels(program: &Program, inst: &Inst) -> usize {
    let declared = image(program, inst).and_then(|d| d.format.as_deref());
    let named = inst.memory.as_ref().and_then(|m| m.format.as_deref());
    let known = |f: &&str| !f.ends_with("NONE");
    format_channels(declared.filter(known).or(named.filter(known)))
}

fn image_target(program: &Program, inst: &Inst) -> TexTarget {
    let declared = || image(program, inst).and_then(|d| d.target);
    inst.target.or_else(declared).unwrap_or(TexTarget::Unknown)
}

/// The number of vertices that a program's stage reads, by its properties.
pub(crate) fn input_vertices(program: &Program) -> u32 {
    match program.stage {
        Stage::Geom => match property(program, "GS_INPUT_PRIMITIVE").unwrap_or("TRIANGLES") {
            "POINTS" | "0" => 1,
            "LINES" | "1" => 2,
            "LINES_ADJACENCY" | "10" => 4,
            "TRIANGLES_ADJACENCY" | "12" => 6,
            _ => 3,
        },
        Stage::TessCtrl => property_number(program, "TCS_VERTICES_OUT")
            .unwrap_or(4)
            .clamp(4, 32),
        Stage::TessEval => named_rows(program).clamp(8, 32),
        _ => 0,
    }
}

/// One more than the highest vertex that an instruction reads by number; the most that a
/// patch can have if one is read by address.
fn named_rows(program: &Program) -> u32 {
    let sources = program.insts.iter().flat_map(|i| &i.srcs);
    let rows = sources
        .filter(|s| s.reg.file == File::In)
        .filter_map(|s| s.reg.dim);
    rows.map(|d| match d.addr {
        Some(_) => 32,
        None => u32::try_from(d.base).map_or(0, |row| row.saturating_add(1)),
    })
    .max()
    .unwrap_or(0)
}

/// The number of vertices that a control shader writes.
pub(crate) fn patch_vertices(program: &Program) -> u32 {
    property_number(program, "TCS_VERTICES_OUT")
        .unwrap_or(4)
        .clamp(1, 32)
}

/// The sizes of the files while they are being counted.
struct Layout {
    /// Registers without an outer bracket, and for each row: highest register + 1.
    plain: [u32; FILES],
    rows: [Vec<u32>; FILES],
    /// What `[]` declares for every row.
    every_row: [u32; FILES],
    uses: Vec<(File, Option<i32>, i32)>,
    /// The text asks for more registers than there are here.
    too_large: bool,
}

/// More registers than any program has; larger numbers in a text are not followed.
const MAX_REGISTER: i32 = 1 << 14;
const MAX_ROW: i32 = 64;
/// All registers of a program.
const MAX_SLOTS: u32 = 1 << 18;

impl Layout {
    fn new(program: &Program, vertices: u32) -> Layout {
        let mut layout = Layout {
            plain: [0; FILES],
            rows: std::array::from_fn(|_| Vec::new()),
            every_row: [0; FILES],
            uses: Vec::new(),
            too_large: false,
        };
        let imms = program
            .header
            .iter()
            .filter(|i| matches!(i, Item::Imm(_)))
            .count();
        layout.plain[File::Imm as usize] = imms as u32;
        for item in &program.header {
            if let Item::Decl(d) = item
                && !tgsi::usage::is_resource(d.file)
            {
                layout.declare(d);
            }
        }
        layout.count_rows(program, vertices);
        for inst in &program.insts {
            inst.dsts.iter().for_each(|d| layout.see(&d.reg));
            inst.srcs.iter().for_each(|s| layout.see(&s.reg));
            inst.offsets.iter().for_each(|o| layout.see(&o.reg));
        }
        layout
    }

    fn declare(&mut self, d: &tgsi::Decl) {
        let last = d.last.clamp(0, MAX_REGISTER);
        let file = d.file;
        match d.dim {
            None => self.note(file, None, last),
            Some(Some(row)) if file == File::Const => self.note(file, Some(row), last),
            Some(rows) => {
                let every = &mut self.every_row[file as usize];
                *every = (*every).max(last as u32 + 1);
                let rows = rows.unwrap_or(0).clamp(0, MAX_ROW) as usize;
                self.need_rows(file, rows);
            }
        }
        self.too_large |= d.last > MAX_REGISTER || self.uses.len() > MAX_SLOTS as usize;
        if (d.dim.is_none() || file == File::Const) && !self.too_large {
            let row = d.dim.flatten();
            self.uses
                .extend((d.first.max(0)..=last).map(|i| (file, row, i)));
        }
    }

    fn need_rows(&mut self, file: File, rows: usize) {
        let have = &mut self.rows[file as usize];
        if have.len() < rows {
            have.resize(rows, 0);
        }
    }

    fn count_rows(&mut self, program: &Program, vertices: u32) {
        if self.every_row[File::In as usize] > 0 {
            self.need_rows(File::In, vertices as usize);
        }
        if self.every_row[File::Out as usize] > 0 {
            self.need_rows(File::Out, patch_vertices(program) as usize);
        }
    }

    fn note(&mut self, file: File, row: Option<i32>, index: i32) {
        let size = index.clamp(0, MAX_REGISTER) as u32 + 1;
        let row = if file == File::Const {
            row.or(Some(0))
        } else {
            row
        };
        let slot = match row {
            None => &mut self.plain[file as usize],
            Some(row) => {
                let row = row.clamp(0, MAX_ROW) as usize;
                self.need_rows(file, row + 1);
                &mut self.rows[file as usize][row]
            }
        };
        *slot = (*slot).max(size);
    }

    /// Makes room for a register that is named directly, declared or not.
    fn see(&mut self, reg: &Register) {
        for index in [Some(reg.index), reg.dim].into_iter().flatten() {
            if let Some(a) = index.addr {
                self.note(a.file, None, a.index);
            }
        }
        let skip = tgsi::usage::is_resource(reg.file) || matches!(reg.file, File::Null | File::Imm);
        if skip || reg.is_indirect() || reg.index.base < 0 || reg.index.base > MAX_REGISTER {
            return;
        }
        let row = reg.dim.map(|d| d.base);
        if row.is_some_and(|r| !(0..=MAX_ROW).contains(&r)) {
            return;
        }
        self.note(reg.file, row, reg.index.base);
        self.uses.push((reg.file, row, reg.index.base));
    }

    /// Slots for all files, their number, and the number of those that all lanes share.
    fn assign(&mut self) -> ([FileBanks; FILES], u32, u32) {
        let mut next = 0u32;
        let mut take = |len: u32| {
            let bank = Bank { base: next, len };
            next = next.saturating_add(len);
            bank
        };
        let mut files: [FileBanks; FILES] = std::array::from_fn(|_| FileBanks::default());
        let mut place = |f: usize| {
            let rows = self.rows[f].iter().map(|n| (*n).max(self.every_row[f]));
            files[f] = FileBanks {
                plain: take(self.plain[f]),
                rows: rows.map(&mut take).collect(),
            };
            next_slot(&files[f])
        };
        let uniform_files = [File::Const as usize, File::Imm as usize];
        let uniform = uniform_files.into_iter().map(&mut place).max().unwrap_or(0);
        let mut slots = uniform;
        for f in (0..FILES).filter(|f| !uniform_files.contains(f)) {
            slots = slots.max(place(f));
        }
        self.too_large |= slots > MAX_SLOTS || self.uses.len() > MAX_SLOTS as usize;
        if self.too_large {
            return (std::array::from_fn(|_| FileBanks::default()), 0, 0);
        }
        (files, slots, uniform)
    }

    /// Every register with a name, in order, once.
    fn named(&mut self, files: &[FileBanks; FILES]) -> Vec<(File, Option<i32>, i32, u32)> {
        let mut named = std::mem::take(&mut self.uses);
        for file in [File::In, File::Out] {
            let every = self.every_row[file as usize] as i32;
            let rows = files[file as usize].rows.len() as i32;
            named.extend((0..rows).flat_map(|r| (0..every).map(move |i| (file, Some(r), i))));
        }
        named.sort_unstable();
        named.dedup();
        let slot = |(file, row, index): (File, Option<i32>, i32)| {
            let row_of = if file == File::Const {
                row.or(Some(0))
            } else {
                row
            };
            let banks = &files[file as usize];
            let bank = match row_of {
                None => banks.plain,
                Some(r) => banks.rows.get(r as usize).copied()?,
            };
            (index >= 0 && (index as u32) < bank.len)
                .then(|| (file, row_of, index, bank.base + index as u32))
        };
        named.into_iter().filter_map(slot).collect()
    }
}
