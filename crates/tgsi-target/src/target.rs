//! Targets as data.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use tgsi::{Opcode, Stage};

use crate::indirections::IndirectionModel;

/// The limits of a target; `None` is "not limited or not known". Registers are vec4.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Limits {
    /// Instruction slots.
    pub instructions: Option<u32>,
    /// Slots of arithmetic instructions.
    pub alu: Option<u32>,
    /// Slots of texture instructions, kills among them.
    pub tex: Option<u32>,
    /// Slots of control flow.
    pub flow: Option<u32>,
    /// Slots of arithmetic instructions in one texture indirection.
    pub phase_alu: Option<u32>,
    /// Slots of texture instructions in one texture indirection.
    pub phase_tex: Option<u32>,
    /// Texture indirections, by the target's own model.
    pub indirections: Option<u32>,
    /// Temporaries.
    pub temps: Option<u32>,
    /// Constant registers; see [`Constants`] for what counts.
    pub constants: Option<u32>,
    /// Immediates.
    pub immediates: Option<u32>,
    /// Inputs.
    pub inputs: Option<u32>,
    /// Inputs that are no colours, where each kind has registers of its own.
    pub coordinates: Option<u32>,
    /// Inputs that are colours.
    pub colors: Option<u32>,
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
    /// Address registers.
    pub address_registers: Option<u32>,
    /// Declared registers (inputs, samplers, temporaries... one each).
    pub declarations: Option<u32>,
    /// Nesting of IF, loop and SWITCH.
    pub depth: Option<u32>,
    /// Nesting of loops.
    pub loop_depth: Option<u32>,
    /// Nesting of calls.
    pub call_depth: Option<u32>,
}

/// Which constants take a constant register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constants {
    /// All that one buffer declares.
    #[default]
    Declared,
    /// Those that instructions name: the consumer packs them. A buffer that is read with an
    /// index counts whole.
    Named,
    /// As `Named`, and each immediate takes one too.
    NamedAndImmediates,
}

/// Which opcodes a target takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opcodes {
    /// Opcodes the hardware has; nothing if every opcode of the language is taken.
    pub native: Option<Vec<Opcode>>,
    /// Opcodes the consumer takes and expands itself, with the slots that this costs.
    pub expanded: BTreeMap<Opcode, u32>,
    /// Native opcodes that take more than one slot.
    pub slots: BTreeMap<Opcode, u32>,
}

impl Opcodes {
    /// Whether the consumer takes the opcode.
    pub fn takes(&self, op: Opcode) -> bool {
        self.is_native(op) || self.expanded.contains_key(&op)
    }

    /// Whether the hardware has the opcode.
    pub fn is_native(&self, op: Opcode) -> bool {
        match &self.native {
            None => true,
            Some(list) => op == Opcode::End || list.contains(&op),
        }
    }

    /// Slots that an instruction takes; 1 where nothing else is known.
    pub fn slots(&self, op: Opcode) -> u32 {
        let of = |map: &BTreeMap<Opcode, u32>| map.get(&op).copied();
        of(&self.slots).or_else(|| of(&self.expanded)).unwrap_or(1)
    }
}

/// Source modifiers and swizzles that operands of arithmetic may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Operands {
    /// Whether `|x|` is taken.
    pub no_abs: bool,
    /// Whether `-x` is taken.
    pub no_negate: bool,
    /// Whether `_SAT` is taken.
    pub no_saturate: bool,
    /// Swizzles that cost nothing, as letters of `xyzw01h`; empty: all. Three letters say nothing of the
    /// last channel, which then takes any.
    pub swizzles: Vec<String>,
    /// Distinct input registers of one instruction.
    pub inputs: Option<u32>,
    /// Distinct constant registers of one instruction.
    pub constants: Option<u32>,
    /// Distinct temporaries of one instruction.
    pub temps: Option<u32>,
    /// Immediates count among the distinct constants.
    pub immediates_are_constants: bool,
    /// Scalar operations read one channel that the swizzle replicates.
    pub scalar_replicate: bool,
    /// A texture coordinate has no swizzle, no negation and no absolute value.
    pub plain_coordinates: bool,
    /// A texture coordinate is no constant and no immediate.
    pub coordinate_in_register: bool,
    /// A fetch writes all four channels.
    pub whole_fetches: bool,
    /// A fetch does not write an output.
    pub no_fetch_to_output: bool,
    /// Presubtract operations that cost nothing: `1-2a`, `b-a`, `b+a`, `1-a`.
    pub presubtract: Vec<String>,
    /// Output modifiers that cost nothing: `x2`, `x4`, `x8`, `d2`, `d4`, `d8`.
    pub scale: Vec<String>,
    /// Source modifiers of the first pixel shaders: `bias`, `bx2`, `1-x`, `x2`.
    pub source_scale: Vec<String>,
    /// Registers are indexed by the x channel of an address register only.
    pub address_x_only: bool,
}

/// Control flow that a target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Flow {
    /// IF, ELSE, ENDIF.
    pub branches: bool,
    /// Loops, BRK among them.
    pub loops: bool,
    /// CONT.
    pub continues: bool,
    /// SWITCH.
    pub switches: bool,
    /// CAL, BGNSUB.
    pub subroutines: bool,
}

impl Default for Flow {
    fn default() -> Self {
        Flow {
            branches: true,
            loops: true,
            continues: true,
            switches: true,
            subroutines: true,
        }
    }
}

/// Arithmetic of a target.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Arithmetic {
    /// Whether registers hold integers.
    pub integers: bool,
    /// The float profile where the caller asks for none; `auto` if absent.
    pub profile: Option<String>,
    /// MAD rounds once.
    pub fused_mad: bool,
    /// MIN and MAX give the second operand if either is NaN, as Direct3D 9 does.
    pub d3d9_min_max: bool,
}

impl Default for Arithmetic {
    fn default() -> Self {
        Arithmetic {
            integers: true,
            profile: None,
            fused_mad: false,
            d3d9_min_max: false,
        }
    }
}

/// A consumer of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name, as `--target` takes it.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// Where its numbers come from.
    pub source: String,
    /// Stages it runs; empty: every one.
    pub stages: Vec<Stage>,
    /// Limits.
    pub limits: Limits,
    /// What counts against the limit of constants.
    pub constants: Constants,
    /// Opcodes.
    pub opcodes: Opcodes,
    /// Shapes of operands.
    pub operands: Operands,
    /// Control flow.
    pub flow: Flow,
    /// Arithmetic.
    pub arithmetic: Arithmetic,
    /// How texture indirections count.
    pub indirection_model: IndirectionModel,
    /// An operation on colour and one on alpha, one behind the other, share a slot.
    pub pairs: bool,
    /// Outputs are written with all channels.
    pub whole_outputs: bool,
    /// Dialect in which results are printed, if not as the input was.
    pub dialect: Option<String>,
    /// Nothing stands between a program and the hardware: operands that it does not read in place are
    /// copied by no one, and are a reason not to fit.
    pub bare: bool,
    /// Whether the consumer is virglrenderer, whose rules [`crate::virgl_introduces`] checks.
    pub virgl: bool,
}

/// Why a target's data cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It is no TOML, or has a key that targets do not have; the text says where.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// An opcode that the language does not have.
    #[error("unknown opcode '{0}'")]
    Opcode(String),
    /// A stage that the language does not have.
    #[error("unknown stage '{0}'; the stages are FRAG, VERT, GEOM, TESS_CTRL, TESS_EVAL and COMP")]
    Stage(String),
    /// A limit that targets do not have.
    #[error("unknown limit '{name}'; the limits are {}", known.join(", "))]
    Limit {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
}

/// A target as its file has it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    name: String,
    summary: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    stages: Vec<String>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    constants: Constants,
    #[serde(default)]
    opcodes: OpcodeNames,
    #[serde(default)]
    operands: Operands,
    #[serde(default)]
    flow: Flow,
    #[serde(default)]
    arithmetic: Arithmetic,
    #[serde(default)]
    indirection_model: IndirectionModel,
    #[serde(default)]
    pairs: bool,
    #[serde(default)]
    whole_outputs: bool,
    dialect: Option<String>,
    #[serde(default)]
    bare: bool,
    #[serde(default)]
    virgl: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct OpcodeNames {
    native: Option<Vec<String>>,
    expanded: BTreeMap<String, u32>,
    slots: BTreeMap<String, u32>,
}

fn opcode(name: &str) -> Result<Opcode, TargetError> {
    Opcode::from_name(name).ok_or_else(|| TargetError::Opcode(name.to_owned()))
}

fn opcodes(names: OpcodeNames) -> Result<Opcodes, TargetError> {
    let costs = |map: BTreeMap<String, u32>| {
        map.into_iter()
            .map(|(name, n)| Ok((opcode(&name)?, n)))
            .collect::<Result<_, TargetError>>()
    };
    let native = names
        .native
        .map(|list| list.iter().map(|n| opcode(n)).collect())
        .transpose()?;
    Ok(Opcodes {
        native,
        expanded: costs(names.expanded)?,
        slots: costs(names.slots)?,
    })
}

fn stage(name: &str) -> Result<Stage, TargetError> {
    Ok(match name {
        "FRAG" => Stage::Frag,
        "VERT" => Stage::Vert,
        "GEOM" => Stage::Geom,
        "TESS_CTRL" => Stage::TessCtrl,
        "TESS_EVAL" => Stage::TessEval,
        "COMP" => Stage::Comp,
        _ => return Err(TargetError::Stage(name.to_owned())),
    })
}

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        [$(($name, LazyLock::new(|| {
            Target::from_toml(include_str!(concat!("../targets/", $name, ".toml")))
                .expect("the targets that are built in are read by a test")
        }))),*]
    };
}

/// A built-in target by name, read when it is first asked for.
type Builtin = (&'static str, LazyLock<Target>);

/// The built-in targets. The first is the default.
static BUILTIN: [Builtin; 32] = builtin![
    "generic", "virgl", "softpipe", "arb-vp", "arb-fp", "nv-vp", "nv-vp2", "nv-fp", "r200-fs",
    "r300-fs", "r400-fs", "r500-fs", "r300-vs", "r500-vs", "i915-fs", "nv30-vp", "nv40-vp",
    "nv30-fp", "nv40-fp", "svga-ps", "svga-vs", "ps_1_1", "ps_1_2", "ps_1_3", "ps_1_4", "ps_2_0",
    "ps_3_0", "vs_1_1", "vs_2_0", "vs_3_0", "agal-fs", "agal-vs",
];

impl Target {
    /// The built-in targets, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = &'static Target> {
        BUILTIN.iter().map(|(_, target)| &**target)
    }

    /// Their names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|b| b.0)
    }

    /// The built-in target of a name.
    pub fn by_name(name: &str) -> Option<&'static Target> {
        BUILTIN.iter().find(|b| b.0 == name).map(|b| &*b.1)
    }

    /// Reads a target from the text of a TOML file.
    ///
    /// # Errors
    /// [`TargetError`]: no TOML, an unknown key, opcode or stage.
    pub fn from_toml(text: &str) -> Result<Target, TargetError> {
        let file: File = toml::from_str(text)?;
        Ok(Target {
            name: file.name,
            summary: file.summary,
            source: file.source,
            stages: file
                .stages
                .iter()
                .map(|s| stage(s))
                .collect::<Result<_, _>>()?,
            limits: file.limits,
            constants: file.constants,
            opcodes: opcodes(file.opcodes)?,
            operands: file.operands,
            flow: file.flow,
            arithmetic: file.arithmetic,
            indirection_model: file.indirection_model,
            pairs: file.pairs,
            whole_outputs: file.whole_outputs,
            dialect: file.dialect,
            bare: file.bare,
            virgl: file.virgl,
        })
    }

    /// Whether it runs programs of a stage.
    pub fn runs(&self, stage: Stage) -> bool {
        self.stages.is_empty() || self.stages.contains(&stage)
    }
}

impl Default for Target {
    fn default() -> Self {
        BUILTIN[0].1.clone()
    }
}

/// A limit by its names.
#[derive(Clone, Copy)]
pub struct LimitName {
    /// Name in a target's file.
    pub name: &'static str,
    /// Name as drivers and the OpenGL interfaces write it.
    pub driver_name: &'static str,
    /// What there is too much of, in "needs 70 inputs".
    pub what: &'static str,
    /// The limit.
    pub get: fn(&Limits) -> Option<u32>,
    set: fn(&mut Limits, u32),
}

macro_rules! limits {
    ($($name:literal $driver_name:literal $field:ident $what:literal)*) => {
        [$(LimitName {
            name: $name,
            driver_name: $driver_name,
            what: $what,
            get: |l| l.$field,
            set: |l, n| l.$field = Some(n),
        }),*]
    };
}

/// Every limit, in the order in which excesses are reported.
pub const LIMITS: [LimitName; 24] = limits![
    "instructions" "MaxInstructions" instructions "instructions"
    "alu" "MaxAluInstructions" alu "arithmetic instructions"
    "tex" "MaxTexInstructions" tex "texture instructions"
    "flow" "MaxFlowInstructions" flow "flow control instructions"
    "phase-alu" "MaxAluInstructionsPerPhase" phase_alu "arithmetic instructions in one phase"
    "phase-tex" "MaxTexInstructionsPerPhase" phase_tex "texture instructions in one phase"
    "indirections" "MaxTexIndirections" indirections "texture indirections"
    "temps" "MaxTemps" temps "temporaries"
    "immediates" "MaxImmediates" immediates "immediates"
    "inputs" "MaxInputs" inputs "inputs"
    "coordinates" "MaxTexCoords" coordinates "inputs that are no colours"
    "colors" "MaxColorInputs" colors "colour inputs"
    "outputs" "MaxOutputs" outputs "outputs"
    "depth" "MaxControlFlowDepth" depth "levels of nesting"
    "loop-depth" "MaxLoopDepth" loop_depth "levels of loops"
    "call-depth" "MaxCallDepth" call_depth "levels of calls"
    "constants" "MaxConsts" constants "constants"
    "constant-buffer-index" "MaxConstBufferIndex" constant_buffer_index "as highest constant buffer"
    "address-registers" "MaxAddrs" address_registers "address registers"
    "system-values" "MaxSystemValues" system_values "system values"
    "samplers" "MaxTextureSamplers" samplers "samplers"
    "images" "MaxShaderImages" images "images"
    "buffers" "MaxShaderBuffers" buffers "buffers"
    "declarations" "MaxDeclarations" declarations "declarations"
];

impl Limits {
    /// Sets a limit by its name in a target's file (`indirections`) or as drivers call it
    /// (`MaxTexIndirections`).
    ///
    /// # Errors
    /// [`TargetError::Limit`]: there is no such limit.
    pub fn set(&mut self, name: &str, value: u32) -> Result<(), TargetError> {
        let found = LIMITS
            .iter()
            .find(|l| l.name == name || l.driver_name.eq_ignore_ascii_case(name));
        let Some(limit) = found else {
            return Err(TargetError::Limit {
                name: name.to_owned(),
                known: LIMITS.iter().map(|l| l.name).collect(),
            });
        };
        (limit.set)(self, value);
        Ok(())
    }
}
