//! Targets as data.

use tgsi::{File, Item, Program};

use crate::count::Counts;
use crate::indirections::{IndirectionModel, indirections};

/// The limits of a target; `None` is "not limited or not known". Registers are vec4.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Instructions.
    pub instructions: Option<u32>,
    /// Arithmetic instructions.
    pub alu: Option<u32>,
    /// Texture instructions.
    pub tex: Option<u32>,
    /// Texture indirections, by the target's own model.
    pub indirections: Option<u32>,
    /// Temporaries.
    pub temps: Option<u32>,
    /// Constant registers of one buffer.
    pub constants: Option<u32>,
    /// Immediates.
    pub immediates: Option<u32>,
    /// Inputs.
    pub inputs: Option<u32>,
    /// Outputs.
    pub outputs: Option<u32>,
    /// System values.
    pub system_values: Option<u32>,
    /// Samplers.
    pub samplers: Option<u32>,
    /// Images.
    pub images: Option<u32>,
    /// Buffers.
    pub buffers: Option<u32>,
    /// Highest number of a constant buffer.
    pub constant_buffer_index: Option<u32>,
    /// Nesting of IF, loop and SWITCH.
    pub depth: Option<u32>,
}

/// A consumer of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name, as `--target` takes it.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Limits.
    pub limits: Limits,
    /// How texture indirections count.
    pub indirection_model: IndirectionModel,
    /// Whether the consumer is virglrenderer, whose rules [`crate::virgl_introduces`] checks.
    pub virgl: bool,
}

const NO_LIMITS: Limits = Limits {
    instructions: None,
    alu: None,
    tex: None,
    indirections: None,
    temps: None,
    constants: None,
    immediates: None,
    inputs: None,
    outputs: None,
    system_values: None,
    samplers: None,
    images: None,
    buffers: None,
    constant_buffer_index: None,
    depth: None,
};

/// The built-in targets. The first is the default.
pub static TARGETS: &[Target] = &[
    Target {
        name: "generic",
        summary: "any driver that takes full TGSI (softpipe's limits)",
        limits: Limits {
            temps: Some(4096),
            constants: Some(4096),
            inputs: Some(80),
            depth: Some(32),
            ..NO_LIMITS
        },
        indirection_model: IndirectionModel::Arb,
        virgl: false,
    },
    Target {
        name: "virgl",
        summary: "virglrenderer of 2021 and later: only what every host accepts",
        limits: Limits {
            immediates: Some(1024),
            inputs: Some(64),
            outputs: Some(64),
            system_values: Some(32),
            samplers: Some(32),
            images: Some(32),
            buffers: Some(32),
            constant_buffer_index: Some(31),
            ..NO_LIMITS
        },
        indirection_model: IndirectionModel::Arb,
        virgl: true,
    },
];

impl Target {
    /// The built-in target of a name.
    pub fn by_name(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|t| t.name == name)
    }

    /// Whether the program is within every limit.
    pub fn fits(&self, program: &Program, counts: &Counts) -> bool {
        fit_report(self, program, counts).is_empty()
    }
}

impl Default for Target {
    fn default() -> Self {
        TARGETS[0].clone()
    }
}

/// A limit that a program exceeds: "needs `needs` `what` of `has`".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// What there is too much of.
    pub what: &'static str,
    /// How much the program needs.
    pub needs: u32,
    /// How much the target has.
    pub has: u32,
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "needs {} {}, the target has {}",
            self.needs, self.what, self.has
        )
    }
}

/// Every limit of the target that the program exceeds; empty when it fits.
pub fn fit_report(target: &Target, program: &Program, counts: &Counts) -> Vec<Excess> {
    let limits = &target.limits;
    let mut report = Vec::new();
    let mut check = |what, needs: u32, limit: Option<u32>| {
        if let Some(has) = limit
            && needs > has
        {
            report.push(Excess { what, needs, has });
        }
    };
    check("instructions", counts.instructions, limits.instructions);
    check("arithmetic instructions", counts.alu, limits.alu);
    check("texture instructions", counts.tex, limits.tex);
    if limits.indirections.is_some() {
        check(
            "texture indirections",
            indirections(program, target.indirection_model),
            limits.indirections,
        );
    }
    check("temporaries", counts.temps, limits.temps);
    check("immediates", counts.immediates, limits.immediates);
    check("inputs", counts.inputs, limits.inputs);
    check("outputs", counts.outputs, limits.outputs);
    check("levels of nesting", counts.depth, limits.depth);
    let used = Declared::of(program);
    check("constants in one buffer", used.constants, limits.constants);
    check(
        "as highest constant buffer",
        used.constant_buffer,
        limits.constant_buffer_index,
    );
    check("system values", used.system_values, limits.system_values);
    check("samplers", used.samplers, limits.samplers);
    check("images", used.images, limits.images);
    check("buffers", used.buffers, limits.buffers);
    report
}

/// One past the highest declared register of each file.
#[derive(Default)]
struct Declared {
    constants: u32,
    constant_buffer: u32,
    system_values: u32,
    samplers: u32,
    images: u32,
    buffers: u32,
}

impl Declared {
    fn of(program: &Program) -> Self {
        let mut declared = Declared::default();
        for item in &program.header {
            let Item::Decl(decl) = item else { continue };
            let end = u32::try_from(i64::from(decl.last) + 1).unwrap_or(0);
            let slot = match decl.file {
                File::Const => {
                    if let Some(Some(buffer)) = decl.dim {
                        let buffer = u32::try_from(buffer).unwrap_or(0);
                        declared.constant_buffer = declared.constant_buffer.max(buffer);
                    }
                    &mut declared.constants
                }
                File::Sv => &mut declared.system_values,
                File::Samp => &mut declared.samplers,
                File::Image => &mut declared.images,
                File::Buffer => &mut declared.buffers,
                _ => continue,
            };
            *slot = (*slot).max(end);
        }
        declared
    }
}
