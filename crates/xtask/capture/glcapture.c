/* glcapture OUT.PREFIX SOURCE...
 *
 * Compiles the sources of one program on a surfaceless EGL context, draws one
 * point (or dispatches one group) so that Mesa creates every driver shader, and
 * writes the TGSI text which Mesa's virgl driver sends to its host: one file
 * PREFIX.STAGE.tgsi for each stage that has a source.
 *
 * Source names end in .vert.glsl .tesc.glsl .tese.glsl .geom.glsl .frag.glsl
 * .comp.glsl, .vp.arb or .fp.arb. Missing partner stages are made up here;
 * every stage is a separable program, so that no stage is pruned by its partner.
 *
 * This program defines connect() and write() itself. It is linked with
 * -rdynamic, so the driver's calls arrive here: connect() goes to
 * $VTEST_SOCKET_NAME (old Mesa knows only the default path), and write() reads
 * the vtest stream on its way to the server.
 *
 * Exit codes: 0 written, 1 a source does not compile, 2 usage or no context,
 * 3 a stage never reached the driver.
 */
#define _GNU_SOURCE
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { STAGES = 6 };
/* In the order of the virgl shader types. */
static const char *const stage_name[STAGES] = {"vert", "frag", "geom", "tesc", "tese", "comp"};
static const GLenum stage_gl[STAGES] = {GL_VERTEX_SHADER,       GL_FRAGMENT_SHADER,        GL_GEOMETRY_SHADER,
                                        GL_TESS_CONTROL_SHADER, GL_TESS_EVALUATION_SHADER, GL_COMPUTE_SHADER};
static const GLbitfield stage_bit[STAGES] = {GL_VERTEX_SHADER_BIT,       GL_FRAGMENT_SHADER_BIT,
                                             GL_GEOMETRY_SHADER_BIT,     GL_TESS_CONTROL_SHADER_BIT,
                                             GL_TESS_EVALUATION_SHADER_BIT, GL_COMPUTE_SHADER_BIT};

/* ---- reading the vtest stream ---- */

static int vtest_fd = -1;
static uint8_t *stream;
static size_t stream_len, stream_cap;

/* The newest text of each stage, and the text being received. */
static char *newest[STAGES];
static char *pending;
static size_t pending_len, pending_cap;
static unsigned pending_stage;
static int recording;

static void *grown(void *p, size_t *cap, size_t need)
{
   if (need <= *cap)
      return p;
   *cap = need * 2;
   p = realloc(p, *cap);
   if (!p)
      abort();
   return p;
}

static void keep_pending(void)
{
   if (!pending_len)
      return;
   if (recording && pending_stage < STAGES) {
      free(newest[pending_stage]);
      newest[pending_stage] = strndup(pending, pending_len);
   }
   pending_len = 0;
}

/* One CREATE_OBJECT(SHADER) payload of n dwords. */
static void on_shader(const uint32_t *p, uint32_t n)
{
   if (n < 5)
      return;
   uint32_t stage = p[1], offlen = p[2], outputs = p[4];
   uint32_t head = 5;
   int more = (offlen & 0x80000000u) != 0;
   if (!more && stage != 5 && outputs)
      head += 4 + 2 * outputs;
   if (head > n)
      return;
   if (!more) {
      keep_pending();
      pending_stage = stage;
   }
   size_t bytes = (size_t)(n - head) * 4;
   pending = grown(pending, &pending_cap, pending_len + bytes + 1);
   memcpy(pending + pending_len, p + head, bytes);
   pending_len += bytes;
   pending[pending_len] = 0;
}

static void on_submit(const uint32_t *p, uint32_t n)
{
   for (uint32_t i = 0; i < n;) {
      uint32_t len = p[i] >> 16, cmd = p[i] & 0xff, object = p[i] >> 8 & 0xff;
      if (len > n - i - 1)
         return;
      if (cmd == 1 && object == 4)
         on_shader(p + i + 1, len);
      i += len + 1;
   }
   keep_pending();
}

/* Bytes after the message head, or SIZE_MAX while the head is incomplete. */
static size_t body_bytes(const uint32_t *m, size_t have)
{
   switch (m[1]) {
   case 8: /* CREATE_RENDERER counts bytes */
      return m[0];
   case 5: /* TRANSFER_PUT carries its data behind 11 dwords */
      return have < 8 + 44 ? SIZE_MAX : 44 + (size_t)m[2 + 10];
   case 14: /* TRANSFER_PUT2 */
      return 40;
   default:
      return (size_t)m[0] * 4;
   }
}

static void on_bytes(const void *data, size_t n)
{
   stream = grown(stream, &stream_cap, stream_len + n);
   memcpy(stream + stream_len, data, n);
   stream_len += n;
   size_t at = 0;
   while (stream_len - at >= 8) {
      /* Messages need not stay aligned after a transfer of odd length. */
      size_t have = stream_len - at;
      uint32_t head[13] = {0};
      memcpy(head, stream + at, have < sizeof head ? have : sizeof head);
      size_t body = body_bytes(head, have);
      if (body == SIZE_MAX || have - 8 < body)
         break;
      if (head[1] == 6) {
         uint32_t *copy = malloc(body + 4);
         if (!copy)
            abort();
         memcpy(copy, stream + at + 8, body);
         on_submit(copy, (uint32_t)(body / 4));
         free(copy);
      }
      at += 8 + body;
   }
   memmove(stream, stream + at, stream_len - at);
   stream_len -= at;
}

ssize_t write(int fd, const void *data, size_t n)
{
   ssize_t done = syscall(SYS_write, fd, data, n);
   if (done > 0 && fd == vtest_fd)
      on_bytes(data, (size_t)done);
   return done;
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
   const char *wanted = getenv("VTEST_SOCKET_NAME");
   if (wanted && addr->sa_family == AF_UNIX) {
      const struct sockaddr_un *un = (const struct sockaddr_un *)addr;
      if (strstr(un->sun_path, "virgl_test") || !strcmp(un->sun_path, wanted)) {
         struct sockaddr_un to = {.sun_family = AF_UNIX};
         snprintf(to.sun_path, sizeof to.sun_path, "%s", wanted);
         vtest_fd = fd;
         return (int)syscall(SYS_connect, fd, &to, sizeof to);
      }
   }
   return (int)syscall(SYS_connect, fd, addr, len);
}

/* ---- compiling and drawing ---- */

static char *slurp(const char *path)
{
   FILE *f = fopen(path, "rb");
   if (!f) {
      perror(path);
      exit(2);
   }
   fseek(f, 0, SEEK_END);
   long n = ftell(f);
   rewind(f);
   char *text = malloc((size_t)n + 1);
   if (!text || fread(text, 1, (size_t)n, f) != (size_t)n)
      exit(2);
   text[n] = 0;
   fclose(f);
   return text;
}

static const char *const partner[STAGES] = {
   "#version 150\nin vec4 position;\nout gl_PerVertex { vec4 gl_Position; float gl_PointSize; };\n"
   "void main() { gl_Position = position; gl_PointSize = 1.0; }\n",
   "#version 150\nout vec4 color;\nvoid main() { color = vec4(1.0); }\n",
   0,
   0,
   "#version 400\nlayout(triangles) in;\nin gl_PerVertex { vec4 gl_Position; } gl_in[];\n"
   "out gl_PerVertex { vec4 gl_Position; };\n"
   "void main() { gl_Position = gl_in[0].gl_Position * gl_TessCoord.x + gl_in[1].gl_Position * gl_TessCoord.y\n"
   "   + gl_in[2].gl_Position * gl_TessCoord.z; }\n",
   0,
};

static GLuint separable(unsigned stage, const char *text, const char *path)
{
   GLuint program = glCreateShaderProgramv(stage_gl[stage], 1, &text);
   GLint ok = 0;
   glGetProgramiv(program, GL_LINK_STATUS, &ok);
   if (!ok) {
      char log[4000];
      glGetProgramInfoLog(program, sizeof log, 0, log);
      fprintf(stderr, "%s: %s\n", path, log);
      exit(1);
   }
   return program;
}

static void assemble(GLenum target, const char *text, const char *path)
{
   GLuint name;
   glGenProgramsARB(1, &name);
   glBindProgramARB(target, name);
   glProgramStringARB(target, GL_PROGRAM_FORMAT_ASCII_ARB, (GLsizei)strlen(text), text);
   if (glGetError()) {
      fprintf(stderr, "%s: %s\n", path, glGetString(GL_PROGRAM_ERROR_STRING_ARB));
      exit(1);
   }
   glEnable(target);
}

static int ends_with(const char *s, const char *end)
{
   size_t n = strlen(s), m = strlen(end);
   return n >= m && !strcmp(s + n - m, end);
}

static EGLContext context(EGLDisplay display, int core)
{
   for (int minor = 6; minor >= 0; minor--) {
      const EGLint a[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, minor,
                          EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
      EGLContext c = core ? eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, a)
                          : eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, 0);
      if (c || !core)
         return c;
   }
   return 0;
}

static void target_surface(void)
{
   GLuint texture, fbo;
   glGenTextures(1, &texture);
   glBindTexture(GL_TEXTURE_2D, texture);
   glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 16, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, 0);
   glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
   glGenFramebuffers(1, &fbo);
   glBindFramebuffer(GL_FRAMEBUFFER, fbo);
   glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
   glViewport(0, 0, 16, 16);
   glBindTexture(GL_TEXTURE_2D, 0);
}

static void draw(GLuint pipeline, const char **source, const GLuint *program)
{
   GLenum mode = GL_TRIANGLES;
   for (unsigned s = 0; s < STAGES; s++) {
      if (s == 5)
         continue;
      GLuint p = program[s];
      if (!p && partner[s] && (s != 4 || program[3]))
         p = separable(s, partner[s], "partner");
      if (p)
         glUseProgramStages(pipeline, stage_bit[s], p);
   }
   if (program[2]) {
      GLint input;
      glGetProgramiv(program[2], GL_GEOMETRY_INPUT_TYPE, &input);
      mode = (GLenum)input;
   }
   if (source[3] || source[4]) {
      mode = GL_PATCHES;
      glPatchParameteri(GL_PATCH_VERTICES, 3);
   }
   glBindProgramPipeline(pipeline);
   glDrawArrays(mode, 0, 6);
}

int main(int argc, char **argv)
{
   const char *source[STAGES] = {0}, *arb[2] = {0};
   int core = 1;
   for (int i = 2; i < argc; i++) {
      for (unsigned s = 0; s < STAGES; s++) {
         char end[16];
         snprintf(end, sizeof end, ".%s.glsl", stage_name[s]);
         if (ends_with(argv[i], end))
            source[s] = argv[i];
      }
      if (ends_with(argv[i], ".vp.arb"))
         arb[0] = argv[i];
      if (ends_with(argv[i], ".fp.arb"))
         arb[1] = argv[i];
   }
   for (unsigned s = 0; s < STAGES; s++) {
      if (!source[s])
         continue;
      char *text = slurp(source[s]);
      if (!strncmp(text, "#version 1", 10) && strncmp(text, "#version 150", 12))
         core = 0;
      free(text);
   }
   if (arb[0] || arb[1])
      core = 0;

   EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, 0);
   EGLint major, minor;
   if (argc < 3 || !eglInitialize(display, &major, &minor) || !eglBindAPI(EGL_OPENGL_API)) {
      fprintf(stderr, "glcapture: usage, or no EGL\n");
      return 2;
   }
   EGLContext c = context(display, core);
   if (!c || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, c)) {
      fprintf(stderr, "glcapture: no context\n");
      return 2;
   }
   if (!strcmp(argv[2], "--version")) {
      printf("%s | %s\n", glGetString(GL_VERSION), glGetString(GL_RENDERER));
      return 0;
   }
   target_surface();
   if (core) {
      GLuint vao;
      glGenVertexArrays(1, &vao);
      glBindVertexArray(vao);
   }
   glFinish();
   recording = 1;

   if (arb[0] || arb[1]) {
      if (arb[0])
         assemble(GL_VERTEX_PROGRAM_ARB, slurp(arb[0]), arb[0]);
      if (arb[1])
         assemble(GL_FRAGMENT_PROGRAM_ARB, slurp(arb[1]), arb[1]);
      glBegin(GL_POINTS);
      glVertex2f(0.0f, 0.0f);
      glEnd();
      source[0] = arb[0];
      source[1] = arb[1];
   } else {
      GLuint pipeline, program[STAGES] = {0};
      glGenProgramPipelines(1, &pipeline);
      for (unsigned s = 0; s < STAGES; s++)
         if (source[s])
            program[s] = separable(s, slurp(source[s]), source[s]);
      if (program[5]) {
         glUseProgramStages(pipeline, stage_bit[5], program[5]);
         glBindProgramPipeline(pipeline);
         glDispatchCompute(1, 1, 1);
      } else {
         draw(pipeline, source, program);
      }
   }
   glFinish();

   int missing = 0;
   for (unsigned s = 0; s < STAGES; s++) {
      if (!source[s])
         continue;
      if (!newest[s]) {
         fprintf(stderr, "%s: the driver made no shader of it\n", source[s]);
         missing = 1;
         continue;
      }
      char path[4096];
      snprintf(path, sizeof path, "%s.%s.tgsi", argv[1], stage_name[s]);
      FILE *f = fopen(path, "w");
      if (!f) {
         perror(path);
         return 2;
      }
      fputs(newest[s], f);
      fclose(f);
   }
   return missing ? 3 : 0;
}
