// What may a termination message or a registry's error message contain?
//   Anything: without a termination message, the kubelet takes the end of the log (terminationMessagePolicy:
//   FallbackToLogsOnError). These texts are shown in status and events, so they are reduced to one short line without
//   keys, passwords and control characters.

/**
 * Characters at the end of a text that are read; the kubelet keeps 4,096 bytes. If smaller, a fatal line could be
 * missed; if larger, the message of a registry could take more time.
 */
const MOST_READ = 4_096;
/** Longest text shown, in characters. If smaller, paths and image names are cut; if larger, a few fill a status. */
const MOST_SHOWN = 300;

const REMOVED = "[removed]";
/** PEM block, also one without its end; PEM_END matches one without its beginning. */
const PEM_BLOCK = /-----BEGIN [\s\S]*?(?:-----END [^\n-]*-----|$)/g;
const PEM_END = /^[\s\S]*-----END [^\n-]*-----/;
/**
 * Base64 of 64 characters or more, as in the lines of a key or certificate. Image digests are hexadecimal and stay.
 * The URL-safe alphabet (`-`, `_`) is left out, since paths of volumes would match.
 */
const BASE64_RUN = /(?![0-9a-f]{64}(?![A-Za-z0-9+/]))[A-Za-z0-9+/]{64,}={0,2}/g;
/** JSON web token, also without a signature: `eyJ` is the base64 of `{"`. */
const JWT = /eyJ[\w-]{1,4096}\.[\w-]{1,4096}\.[\w-]*/g;
/** Signature of a presigned URL: `&sig=x` of Azure, `X-Amz-Signature=x` of S3, `X-Goog-Signature=x` of Google. */
const SIGNATURE = /([?&](?:sig|X-Amz-Signature|X-Goog-Signature)=)[^&\s]+/gi;
/** Quoted value without escapes, or else the rest of the line, since the end of the value is unknown. */
const VALUE = String.raw`(?:"[^"\\\n]*"(?=[\s,}\]]|$)|[^\n]*)`;
/** `password: x`, `--root-password=x`, `"password":"x"`, escaped or not. */
const PASSWORD = new RegExp(
  String.raw`((?:passw(?:or)?d|passphrase|authorization|pwd|pass(?![a-z])|api[-_]?key|client[-_]?secret)[\w-]{0,40}\\?["']?\s*[:=]\s*)${VALUE}`,
  "gi",
);
/** `token=x` and `"token":"x"`, but not a registry's "token: denied". */
const TOKEN = new RegExp(
  String.raw`((?:token|secret[-_]?key|access[-_]?key)[\w-]{0,40}(?:\\?["']\s*:|=)\s*)${VALUE}`,
  "gi",
);
/** `--password x` and `--user name:x`. */
const SECRET_FLAG = /(--[\w-]{0,40}passw(?:or)?d\s+|--user[= ][^\s:]{0,100}:)\S+/gi;
/** `"--password","x"` in a JSON array of arguments, escaped or not. */
const SECRET_ARGUMENT =
  /(--[\w-]{0,40}(?:passw(?:or)?d|pwd|token|secret|(?:api|secret|access)[-_]?key)\\?["']\s{0,10},\s{0,10}\\?["'])(?:\\.|[^"'\\])*/gi;
/** `https://name:x@host`. */
const USERINFO = /(\/\/)[^/\s@:]{1,100}:[^/\s@]{0,200}@/g;

/**
 * Reduces a termination message to one line of at most 300 characters; `undefined` when nothing is left. In JSON logs
 * such as etcd's, takes message and error of the last line at level fatal or panic. Otherwise prefers a Go panic, then
 * the last line outside a stack trace.
 */
export function lastLine(text: string): string | undefined {
  const lines = withoutSecrets(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !isOfStack(line));
  const fatal = lines.findLast((line) => /"level":"(?:fatal|panic|dpanic)"/.test(line));
  const chosen = fatal ?? lines.findLast((line) => /^(?:panic|fatal error): /.test(line)) ?? lines.at(-1);
  return chosen === undefined ? undefined : oneLine(saidIn(chosen));
}

/**
 * The text in one line of at most 300 characters, without keys, passwords and control characters; `undefined` when
 * nothing is left.
 */
export function oneLine(text: string): string | undefined {
  const plain = withoutSecrets(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  if (plain === "") return undefined;
  return plain.length <= MOST_SHOWN ? plain : `${plain.slice(0, MOST_SHOWN - 1).trimEnd()}…`;
}

function withoutSecrets(text: string): string {
  return text
    .slice(-MOST_READ)
    .replace(PEM_BLOCK, REMOVED)
    .replace(PEM_END, REMOVED)
    .replace(BASE64_RUN, REMOVED)
    .replace(USERINFO, `$1${REMOVED}@`)
    .replace(JWT, REMOVED)
    .replace(SIGNATURE, `$1${REMOVED}`)
    .replace(SECRET_ARGUMENT, `$1${REMOVED}`)
    .replace(SECRET_FLAG, `$1${REMOVED}`)
    .replace(PASSWORD, `$1${REMOVED}`)
    .replace(TOKEN, `$1${REMOVED}`);
}

/** Whether the line belongs to a Go stack trace or only announces one. */
function isOfStack(line: string): boolean {
  const isFrame =
    /^(?:goroutine \d+ |created by |exit status \d)|^\/\S+\.go:\d+|^[\w./*()-]+\((?:0x|\.\.\.|\{|\))/.test(line);
  return isFrame || /^\[signal /.test(line);
}

/**
 * Message and error of a JSON log line; any other line unchanged. Uses regular expressions, since a line without its
 * beginning cannot be parsed.
 */
function saidIn(line: string): string {
  const fields = ["msg", "message", "error", "err"].flatMap((name) => fieldIn(line, name) ?? []);
  return line.includes('":') && fields.length > 0 ? [...new Set(fields)].join(": ") : line;
}

function fieldIn(line: string, name: string): string | undefined {
  const [, text] = new RegExp(String.raw`"${name}":"((?:[^"\\]|\\.)*)"`).exec(line) ?? [];
  if (text === undefined || text === "") return undefined;
  return text.replace(/\\(?:u[0-9a-fA-F]{4}|[nrt])/g, " ").replace(/\\(.)/g, "$1");
}
