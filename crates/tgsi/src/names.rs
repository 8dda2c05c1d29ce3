//! The words of the language besides opcodes: both directions.

use crate::ast::{File, ImmType, Stage, TexTarget};

impl Stage {
    /// The header word.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Vert => "VERT",
            Stage::Frag => "FRAG",
            Stage::Geom => "GEOM",
            Stage::TessCtrl => "TESS_CTRL",
            Stage::TessEval => "TESS_EVAL",
            Stage::Comp => "COMP",
        }
    }
    /// The stage of a header word in upper case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "VERT" => Stage::Vert,
            "FRAG" => Stage::Frag,
            "GEOM" => Stage::Geom,
            "TESS_CTRL" => Stage::TessCtrl,
            "TESS_EVAL" => Stage::TessEval,
            "COMP" => Stage::Comp,
            _ => return None,
        })
    }
}

impl File {
    /// The word in front of the bracket.
    pub const fn name(self) -> &'static str {
        match self {
            File::Null => "NULL",
            File::Const => "CONST",
            File::In => "IN",
            File::Out => "OUT",
            File::Temp => "TEMP",
            File::Samp => "SAMP",
            File::Addr => "ADDR",
            File::Imm => "IMM",
            File::Sv => "SV",
            File::Image => "IMAGE",
            File::Sview => "SVIEW",
            File::Buffer => "BUFFER",
            File::Memory => "MEMORY",
            File::HwAtomic => "HWATOMIC",
            File::Res => "RES",
            File::Pred => "PRED",
            File::Loop => "LOOP",
        }
    }
    /// The file of a word in upper case.
    pub fn from_name(name: &str) -> Option<Self> {
        File::from_bytes(name.as_bytes())
    }
    /// The file of a word in upper case.
    pub(crate) fn from_bytes(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"TEMP" => File::Temp,
            b"IMM" => File::Imm,
            b"CONST" => File::Const,
            b"IN" => File::In,
            b"OUT" => File::Out,
            b"SAMP" => File::Samp,
            b"ADDR" => File::Addr,
            b"SV" => File::Sv,
            b"NULL" => File::Null,
            b"IMAGE" => File::Image,
            b"SVIEW" => File::Sview,
            b"BUFFER" => File::Buffer,
            b"MEMORY" => File::Memory,
            b"HWATOMIC" => File::HwAtomic,
            b"RES" => File::Res,
            b"PRED" => File::Pred,
            b"LOOP" => File::Loop,
            _ => return None,
        })
    }
}

impl ImmType {
    /// The type word.
    pub const fn name(self) -> &'static str {
        match self {
            ImmType::Flt32 => "FLT32",
            ImmType::Uint32 => "UINT32",
            ImmType::Int32 => "INT32",
            ImmType::Flt64 => "FLT64",
            ImmType::Uint64 => "UINT64",
            ImmType::Int64 => "INT64",
        }
    }
    /// The type of a word in upper case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "FLT32" => ImmType::Flt32,
            "UINT32" => ImmType::Uint32,
            "INT32" => ImmType::Int32,
            "FLT64" => ImmType::Flt64,
            "UINT64" => ImmType::Uint64,
            "INT64" => ImmType::Int64,
            _ => return None,
        })
    }
    /// Whether each value takes two channels.
    pub const fn is_wide(self) -> bool {
        matches!(self, ImmType::Flt64 | ImmType::Uint64 | ImmType::Int64)
    }
}

impl TexTarget {
    /// The target word.
    pub const fn name(self) -> &'static str {
        match self {
            TexTarget::Buffer => "BUFFER",
            TexTarget::D1 => "1D",
            TexTarget::D2 => "2D",
            TexTarget::D3 => "3D",
            TexTarget::Cube => "CUBE",
            TexTarget::Rect => "RECT",
            TexTarget::Shadow1D => "SHADOW1D",
            TexTarget::Shadow2D => "SHADOW2D",
            TexTarget::ShadowRect => "SHADOWRECT",
            TexTarget::D1Array => "1D_ARRAY",
            TexTarget::D2Array => "2D_ARRAY",
            TexTarget::Shadow1DArray => "SHADOW1D_ARRAY",
            TexTarget::Shadow2DArray => "SHADOW2D_ARRAY",
            TexTarget::ShadowCube => "SHADOWCUBE",
            TexTarget::D2Msaa => "2D_MSAA",
            TexTarget::D2ArrayMsaa => "2D_ARRAY_MSAA",
            TexTarget::CubeArray => "CUBEARRAY",
            TexTarget::ShadowCubeArray => "SHADOWCUBEARRAY",
            TexTarget::Unknown => "UNKNOWN",
        }
    }
    /// The target of a word in upper case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "2D" => TexTarget::D2,
            "BUFFER" => TexTarget::Buffer,
            "1D" => TexTarget::D1,
            "3D" => TexTarget::D3,
            "CUBE" => TexTarget::Cube,
            "RECT" => TexTarget::Rect,
            "SHADOW1D" => TexTarget::Shadow1D,
            "SHADOW2D" => TexTarget::Shadow2D,
            "SHADOWRECT" => TexTarget::ShadowRect,
            "1D_ARRAY" | "1DARRAY" => TexTarget::D1Array,
            "2D_ARRAY" | "2DARRAY" => TexTarget::D2Array,
            "SHADOW1D_ARRAY" | "SHADOW1DARRAY" => TexTarget::Shadow1DArray,
            "SHADOW2D_ARRAY" | "SHADOW2DARRAY" => TexTarget::Shadow2DArray,
            "SHADOWCUBE" => TexTarget::ShadowCube,
            "2D_MSAA" => TexTarget::D2Msaa,
            "2D_ARRAY_MSAA" => TexTarget::D2ArrayMsaa,
            "CUBEARRAY" | "CUBE_ARRAY" => TexTarget::CubeArray,
            "SHADOWCUBEARRAY" | "SHADOWCUBE_ARRAY" => TexTarget::ShadowCubeArray,
            "UNKNOWN" => TexTarget::Unknown,
            _ => return None,
        })
    }
}

/// Semantic names of inputs, outputs and system values.
pub(crate) const SEMANTICS: &[&str] = &[
    "POSITION",
    "COLOR",
    "BCOLOR",
    "FOG",
    "PSIZE",
    "GENERIC",
    "NORMAL",
    "FACE",
    "EDGEFLAG",
    "PRIM_ID",
    "INSTANCEID",
    "VERTEXID",
    "STENCIL",
    "CLIPDIST",
    "CLIPVERTEX",
    "GRID_SIZE",
    "BLOCK_ID",
    "BLOCK_SIZE",
    "THREAD_ID",
    "TEXCOORD",
    "PCOORD",
    "VIEWPORT_INDEX",
    "LAYER",
    "SAMPLEID",
    "SAMPLEPOS",
    "SAMPLEMASK",
    "INVOCATIONID",
    "VERTEXID_NOBASE",
    "BASEVERTEX",
    "PATCH",
    "TESSCOORD",
    "TESSOUTER",
    "TESSINNER",
    "VERTICESIN",
    "HELPER_INVOCATION",
    "BASEINSTANCE",
    "DRAWID",
    "WORK_DIM",
    "SUBGROUP_SIZE",
    "SUBGROUP_INVOCATION",
    "SUBGROUP_EQ_MASK",
    "SUBGROUP_GE_MASK",
    "SUBGROUP_GT_MASK",
    "SUBGROUP_LE_MASK",
    "SUBGROUP_LT_MASK",
    "CS_USER_DATA_AMD",
    "VIEWPORT_MASK",
    "TESS_DEFAULT_OUTER_LEVEL",
    "TESS_DEFAULT_INNER_LEVEL",
    "WINDOW_SPACE_POSITION",
    "CULLDIST",
    "PRIMID",
    "VIEWPORT",
];

/// Interpolation words.
pub(crate) const INTERPOLATIONS: &[&str] = &["CONSTANT", "LINEAR", "PERSPECTIVE", "COLOR"];

/// Interpolation locations.
pub(crate) const LOCATIONS: &[&str] = &["CENTER", "CENTROID", "SAMPLE"];

/// Kinds of memory.
pub(crate) const MEMORIES: &[&str] = &["GLOBAL", "SHARED", "PRIVATE", "INPUT"];

/// Return types of sampler views.
pub(crate) const RETURN_TYPES: &[&str] = &["UNORM", "SNORM", "SINT", "UINT", "FLOAT"];

/// The values of a property: words that it may have besides numbers.
pub(crate) fn property_words(name: &str) -> Option<&'static [&'static str]> {
    const NUMBER: &[&str] = &[];
    const PRIMITIVES: &[&str] = &[
        "POINTS",
        "LINES",
        "LINE_LOOP",
        "LINE_STRIP",
        "TRIANGLES",
        "TRIANGLE_STRIP",
        "TRIANGLE_FAN",
        "QUADS",
        "QUAD_STRIP",
        "POLYGON",
        "LINES_ADJACENCY",
        "LINE_STRIP_ADJACENCY",
        "TRIANGLES_ADJACENCY",
        "TRIANGLE_STRIP_ADJACENCY",
        "PATCHES",
    ];
    Some(match name {
        "GS_INPUT_PRIMITIVE" | "GS_OUTPUT_PRIMITIVE" | "TES_PRIM_MODE" => PRIMITIVES,
        "FS_COORD_ORIGIN" => &["UPPER_LEFT", "LOWER_LEFT"],
        "FS_COORD_PIXEL_CENTER" => &["HALF_INTEGER", "INTEGER"],
        "FS_DEPTH_LAYOUT" => &["NONE", "ANY", "GREATER", "LESS", "UNCHANGED"],
        "NEXT_SHADER" => &["VERT", "FRAG", "GEOM", "TESS_CTRL", "TESS_EVAL", "COMP"],
        "GS_MAX_OUTPUT_VERTICES"
        | "GS_INVOCATIONS"
        | "FS_COLOR0_WRITES_ALL_CBUFS"
        | "FS_EARLY_DEPTH_STENCIL"
        | "FS_POST_DEPTH_COVERAGE"
        | "FS_BLEND_EQUATION_ADVANCED"
        | "VS_PROHIBIT_UCPS"
        | "VS_WINDOW_SPACE_POSITION"
        | "VS_BLIT_SGPRS_AMD"
        | "TCS_VERTICES_OUT"
        | "TES_SPACING"
        | "TES_VERTEX_ORDER_CW"
        | "TES_POINT_MODE"
        | "NUM_CLIPDIST_ENABLED"
        | "NUM_CULLDIST_ENABLED"
        | "CS_FIXED_BLOCK_WIDTH"
        | "CS_FIXED_BLOCK_HEIGHT"
        | "CS_FIXED_BLOCK_DEPTH"
        | "CS_USER_DATA_COMPONENTS_AMD"
        | "MUL_ZERO_WINS"
        | "LAYER_VIEWPORT_RELATIVE"
        | "SEPARABLE_PROGRAM" => NUMBER,
        _ => return None,
    })
}
