//! Whole programs from bytes.
//!
//! A program is well formed, its loops end, its indices stay in their arrays and derivatives
//! stand in uniform flow; unwritten registers are read now and then, as real programs do.

mod flow;
mod memory;
mod operands;
mod ops;
mod texture;

use std::fmt::Write as _;

use tgsi::{ImmType, Program, Stage, TexTarget, parse};

use crate::choices::Choices;

/// A program as text, made of the decisions that the bytes hold.
pub fn program_text(bytes: &[u8]) -> String {
    let mut choices = Choices::new(bytes);
    Gen::new(&mut choices).run()
}

/// As [`program_text`], parsed. What the generator makes has no errors, which tests check.
pub fn program(bytes: &[u8]) -> Program {
    parse(&program_text(bytes)).0
}

/// An output register.
#[derive(Clone, Copy)]
struct Output {
    semantic: &'static str,
    mask: u8,
    /// One for every vertex of the patch.
    per_vertex: bool,
}

/// An indexed group of temporaries.
#[derive(Clone, Copy)]
struct Array {
    first: usize,
    len: usize,
}

/// What encloses the statement that is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// A loop, and whether its counter moves before anything may continue it.
    Loop {
        may_continue: bool,
    },
    Switch,
    Sub,
}

/// How much of what a program is made of.
struct Taste {
    weights: [u32; ops::KINDS],
}

struct Gen<'c, 'b> {
    c: &'c mut Choices<'b>,
    stage: Stage,
    body: Vec<String>,
    imms: Vec<(ImmType, [u32; 4])>,
    temps: usize,
    arrays: Vec<Array>,
    /// First of the registers that count loops.
    counters: usize,
    /// Loops that are open.
    loop_depth: usize,
    inputs: usize,
    outputs: Vec<Output>,
    samplers: Vec<(TexTarget, &'static str)>,
    images: Vec<(&'static str, &'static str)>,
    block: usize,
    around: Vec<Around>,
    depth: usize,
    /// Whether all lanes run this statement, if they run.
    uniform: bool,
    /// Whether some lanes may have left something that others have not.
    parted: bool,
    budget: i32,
    taste: Taste,
    subs: usize,
}

/// The constant registers of buffer 0 and of buffer 1.
const CONSTS: [usize; 2] = [8, 4];
/// Registers that count loops, one a depth.
const COUNTERS: usize = 3;
/// Vertices of a primitive or a patch.
const VERTICES: usize = 3;

impl<'c, 'b> Gen<'c, 'b> {
    fn new(c: &'c mut Choices<'b>) -> Self {
        let stage = match c.weighted(&[30, 20, 10, 10, 8, 22]) {
            0 => Stage::Frag,
            1 => Stage::Vert,
            2 => Stage::Geom,
            3 => Stage::TessCtrl,
            4 => Stage::TessEval,
            _ => Stage::Comp,
        };
        let temps = c.range(2, 8);
        let mut arrays = Vec::new();
        let mut next = temps;
        for _ in 0..c.weighted(&[55, 30, 15]) {
            let len = c.range(4, 6);
            arrays.push(Array { first: next, len });
            next += len;
        }
        let outputs = outputs(stage, c);
        let samplers = texture::samplers(stage, c);
        let images = memory::images(c);
        let taste = ops::taste(stage, c);
        Gen {
            stage,
            body: Vec::new(),
            imms: Vec::new(),
            temps,
            arrays,
            counters: next,
            loop_depth: 0,
            inputs: if stage == Stage::Comp {
                0
            } else {
                c.range(1, 3)
            },
            outputs,
            samplers,
            images,
            block: c.of(&[4, 1, 8]).unwrap_or(4),
            around: Vec::new(),
            depth: 0,
            uniform: true,
            parted: false,
            budget: [6, 14, 28, 50][c.weighted(&[30, 40, 22, 8])],
            taste,
            subs: 0,
            c,
        }
    }

    fn run(mut self) -> String {
        self.prologue();
        while self.budget > 0 && !self.c.is_empty() {
            self.statement();
        }
        self.epilogue();
        self.subroutines();
        self.line("END");
        self.print()
    }

    fn line(&mut self, text: impl Into<String>) {
        self.body.push(text.into());
    }

    /// Writes most registers, so that not everything is undefined.
    fn prologue(&mut self) {
        for t in 0..self.temps {
            if self.c.chance(85) {
                let mask = if self.c.chance(80) {
                    ""
                } else {
                    self.c.name(&[".xy", ".zw", ".x", ".xyz", ".w"])
                };
                let src = self.initial_source();
                self.line(format!("MOV TEMP[{t}]{mask}, {src}"));
            }
        }
        for array in self.arrays.clone() {
            for i in 0..array.len {
                if self.c.chance(85) {
                    let src = self.initial_source();
                    self.line(format!("MOV TEMP[{}], {src}", array.first + i));
                }
            }
        }
    }

    /// Writes outputs from what there is, and emits or stores.
    fn epilogue(&mut self) {
        for at in 0..self.outputs.len() {
            if self.c.chance(92) {
                self.write_output(at, true);
            }
        }
        match self.stage {
            Stage::Geom => self.emit(),
            Stage::Comp => {
                for _ in 0..self.c.range(1, 3) {
                    self.store();
                }
            }
            _ => {}
        }
    }

    fn print(&self) -> String {
        let mut text = String::new();
        self.head(&mut text);
        for (at, (ty, words)) in self.imms.iter().enumerate() {
            let _ = writeln!(text, "{}", operands::immediate_text(at, *ty, words));
        }
        let subs = self
            .body
            .iter()
            .enumerate()
            .filter(|(_, l)| l.as_str() == "BGNSUB");
        let subs: Vec<usize> = subs.map(|(at, _)| at).collect();
        for line in &self.body {
            let call = line
                .strip_prefix("CAL @")
                .or_else(|| line.strip_prefix("CALLNZ @"));
            match call.and_then(|n| subs.get(n.parse::<usize>().ok()?)) {
                Some(at) => {
                    let _ = writeln!(text, "  CAL :{at}");
                }
                None => {
                    let _ = writeln!(text, "  {line}");
                }
            }
        }
        text
    }

    fn head(&self, text: &mut String) {
        let mut put = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        match self.stage {
            Stage::Vert => put("VERT".into()),
            Stage::Frag => put("FRAG".into()),
            Stage::Geom => {
                put("GEOM\nPROPERTY GS_INPUT_PRIMITIVE TRIANGLES".into());
                put("PROPERTY GS_OUTPUT_PRIMITIVE TRIANGLE_STRIP".into());
                put("PROPERTY GS_MAX_OUTPUT_VERTICES 8\nPROPERTY GS_INVOCATIONS 1".into());
            }
            Stage::TessCtrl => put(format!("TESS_CTRL\nPROPERTY TCS_VERTICES_OUT {VERTICES}")),
            Stage::TessEval => {
                put("TESS_EVAL\nPROPERTY TES_PRIM_MODE 4\nPROPERTY TES_SPACING 2".into())
            }
            Stage::Comp => {
                put(format!(
                    "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH {}",
                    self.block
                ));
                put("PROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1".into());
            }
        }
        let bracket = if self.has_vertices() { "[]" } else { "" };
        for i in 0..self.inputs {
            match self.stage {
                Stage::Frag => put(format!("DCL IN[{i}], GENERIC[{i}], PERSPECTIVE")),
                Stage::Vert => put(format!("DCL IN[{i}]")),
                _ => put(format!("DCL IN{bracket}[{i}], GENERIC[{i}]")),
            }
        }
        for (i, out) in self.outputs.iter().enumerate() {
            let vertex = if out.per_vertex { "[]" } else { "" };
            let mask = operands::mask_text(out.mask);
            put(format!("DCL OUT{vertex}[{i}]{mask}, {}", out.semantic));
        }
        for (i, name) in self.system_values().iter().enumerate() {
            put(format!("DCL SV[{i}], {name}"));
        }
        put(format!("DCL CONST[0][0..{}]", CONSTS[0] - 1));
        put(format!("DCL CONST[1][0..{}]", CONSTS[1] - 1));
        for (i, (target, ty)) in self.samplers.iter().enumerate() {
            put(format!(
                "DCL SAMP[{i}]\nDCL SVIEW[{i}], {}, {ty}",
                texture::target_name(*target)
            ));
        }
        for (i, (target, format)) in self.images.iter().enumerate() {
            put(format!("DCL IMAGE[{i}], {target}, {format}, WR"));
        }
        put("DCL BUFFER[0]\nDCL BUFFER[1]".into());
        if self.stage == Stage::Comp {
            put("DCL MEMORY[0], SHARED".into());
        }
        put(format!("DCL TEMP[0..{}], LOCAL", self.temps - 1));
        for (i, a) in self.arrays.iter().enumerate() {
            put(format!(
                "DCL TEMP[{}..{}], ARRAY({}), LOCAL",
                a.first,
                a.first + a.len - 1,
                i + 1
            ));
        }
        put(format!(
            "DCL TEMP[{}..{}], LOCAL",
            self.counters,
            self.counters + COUNTERS - 1
        ));
        put("DCL ADDR[0..1]".into());
    }

    /// Whether inputs belong to the vertices of a primitive.
    fn has_vertices(&self) -> bool {
        matches!(self.stage, Stage::Geom | Stage::TessCtrl | Stage::TessEval)
    }

    fn system_values(&self) -> &'static [&'static str] {
        match self.stage {
            Stage::Vert => &["INSTANCEID", "VERTEXID"],
            Stage::Frag => &["FACE", "POSITION"],
            Stage::Geom => &["INVOCATIONID"],
            Stage::TessCtrl => &["INVOCATIONID"],
            Stage::TessEval => &["TESSCOORD"],
            Stage::Comp => &["THREAD_ID", "BLOCK_ID"],
        }
    }
}

fn outputs(stage: Stage, c: &mut Choices<'_>) -> Vec<Output> {
    let plain = |semantic| Output {
        semantic,
        mask: 0xf,
        per_vertex: stage == Stage::TessCtrl,
    };
    let mut list = match stage {
        Stage::Comp => return Vec::new(),
        Stage::Frag => vec![plain("COLOR[0]")],
        Stage::TessCtrl => vec![
            plain("POSITION"),
            Output {
                semantic: "TESSOUTER",
                mask: 0xf,
                per_vertex: false,
            },
        ],
        _ => vec![plain("POSITION")],
    };
    let more = if stage == Stage::Frag {
        ["COLOR[1]", "COLOR[2]", "COLOR[3]"]
    } else {
        ["GENERIC[9]", "GENERIC[10]", "GENERIC[11]"]
    };
    for semantic in more.into_iter().take(c.below(4)) {
        let mask = if c.chance(80) {
            0xf
        } else {
            [1, 3, 7][c.below(3)]
        };
        list.push(Output {
            mask,
            ..plain(semantic)
        });
    }
    list
}
