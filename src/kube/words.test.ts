import { describe, expect, test } from "vitest";
import { cpuMsOf } from "#kit/hostile/cost.ts";
import { lastLine, oneLine } from "#kube/words.ts";

const FATAL =
  '{"level":"fatal","ts":"2026-01-01T12:00:00.0Z","caller":"etcdmain/etcd.go:204","msg":"discovery failed","error":"cannot access data directory: mkdir /var/lib/etcd/data: permission denied","stacktrace":"go.etcd.io/etcd/server/v3/etcdmain.startEtcdOrProxyV2\\n\\t/go/src/etcd.go:204"}';
const INFO = '{"level":"info","ts":"2026-01-01T12:00:00.0Z","caller":"embed/etcd.go:10","msg":"closing etcd server"}';
const PANIC = `panic: freepages: failed to get all reachable pages (page 3: multiple references)

goroutine 96 [running]:
go.etcd.io/bbolt.(*DB).freepages.func2()
\t/go/pkg/mod/go.etcd.io/bbolt@v1.4.3/db.go:1205 +0x8d
created by go.etcd.io/bbolt.(*DB).freepages in goroutine 1
\t/go/pkg/mod/go.etcd.io/bbolt@v1.4.3/db.go:1203 +0x1a5
exit status 2`;

describe("the last line of a container's log", () => {
  test.each([
    [
      "etcd's fatal message",
      FATAL,
      "discovery failed: cannot access data directory: mkdir /var/lib/etcd/data: permission denied",
    ],
    [
      "a fatal message before other lines",
      `${INFO}\n${FATAL}\n${INFO}`,
      "discovery failed: cannot access data directory: mkdir /var/lib/etcd/data: permission denied",
    ],
    [
      "a line at level panic",
      '{"level":"panic","msg":"failed to recover v3 backend from snapshot","error":"no such file"}',
      "failed to recover v3 backend from snapshot: no such file",
    ],
    ["a line at level dpanic", `{"level":"dpanic","msg":"bad"}\n${INFO}`, "bad"],
    [
      "a panic without JSON",
      PANIC,
      "panic: freepages: failed to get all reachable pages (page 3: multiple references)",
    ],
    ["a panic before other lines", `panic: bad\nbye`, "panic: bad"],
    ["an error of the Go runtime", `fatal error: out of memory\n\nruntime stack:\n`, "fatal error: out of memory"],
    [
      "a panic by a signal, without the signal",
      "panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]",
      "panic: runtime error: invalid memory address",
    ],
    ["the last line, for any other program", "starting\nno space left on device\n\n", "no space left on device"],
    ["the message and error of JSON without a level", `${INFO}\n{"message":"gone","err":"EOF"}`, "gone: EOF"],
    ["the message of JSON with the same text as its error", '{"msg":"gone","error":"gone"}', "gone"],
    [
      "the message of JSON that begins in the middle",
      'r":"etcdmain/etcd.go:204","msg":"discovery failed","error":"no space left on device"}',
      "discovery failed: no space left on device",
    ],
    ["the message of JSON with an empty error", '{"msg":"gone","error":""}', "gone"],
    ["the text of JSON without a message", '{"code":3}', '{"code":3}'],
    ["the message of JSON without its escapes", '{"msg":"open \\"a\\"\\n\\tb\\u0007 c\\\\d"}', 'open "a" b c\\d'],
    ["nothing when it is only a stack frame", "main.main()\n\t/src/main.go:3 +0x1", undefined],
    ["nothing when it is only white space", " \n\t\n", undefined],
  ])("is %s", (_, text, expected) => expect(lastLine(text)).toBe(expected));

  test("is not parsed as JSON when it only mentions msg", () => {
    expect(lastLine('flag provided but not defined: "msg"')).toBe('flag provided but not defined: "msg"');
  });
});

describe("a text on one line", () => {
  test.each([
    ["no control characters", "a\u0000b\u001b[31mc\r\nd\u2028e\u202ef", "a b [31mc d e f"],
    ["nothing left of white space", "\n \t", undefined],
    [
      "300 characters unchanged",
      "x".repeat(300).replace(/x{20}/g, "x".repeat(19).concat(" ")).trim().padEnd(300, "."),
      undefined,
    ],
  ])("has %s", (name, text, expected) => {
    if (name.startsWith("300")) expect(oneLine(text)).toBe(text);
    else expect(oneLine(text)).toBe(expected);
  });

  test("is cut after 300 characters, with a mark", () => {
    const long = "ab ".repeat(200);
    expect(oneLine(long)).toHaveLength(300);
    expect(oneLine(long)).toMatch(/^ab .*b…$/);
    expect(oneLine(`${"y ".repeat(150)}zz`)).toMatch(/y…$/);
  });

  test("keeps a registry's message and an image digest", () => {
    const digest = `sha256:${"0a".repeat(32)}`;
    const text = `failed to pull "quay.io/a@${digest}": failed to fetch oauth token: unexpected status: 401; secret "x" not found`;
    expect(oneLine(text)).toBe(text);
  });
});

describe("these secrets are removed from a text:", () => {
  const KEY = `-----BEGIN EC PRIVATE KEY-----\n${"Zm9vYmFyCg+/".repeat(6)}\nSHORTLINE\n-----END EC PRIVATE KEY-----`;
  const VALUE = "hunter2";
  test.each([
    ["a PEM block", `cannot parse ${KEY} in file`],
    ["two PEM blocks", `a ${KEY} b ${KEY} c`],
    ["a PEM block without an end", `cannot parse ${KEY.slice(0, 60)} SHORTLINE`],
    ["a PEM block without a beginning", KEY.slice(80)],
    ["a PEM block in JSON", JSON.stringify({ level: "fatal", msg: "bad", error: KEY })],
    ["a line of a key", `bad ${"Zm9vYmFyCg+/".repeat(6)} data`],
    ["a password", "password: hunter2"],
    ["a password of several words", "bad password=hunter2 SHORTLINE, sorry"],
    ["a quoted password", 'password="hunter2 SHORTLINE"'],
    ["a password in single quotes", "Password: 'hunter2, SHORTLINE'"],
    ["a password in JSON", '{"msg":"bad","password":"hunter2"}'],
    ["a password in escaped JSON", JSON.stringify({ msg: JSON.stringify({ password: VALUE }) })],
    ["a password with a quote in it", '{"msg":"x","password":"a\\\\"hunter2"}'],
    ["a flag", "unknown flag --root-password=hunter2"],
    ["a flag with a space", "unknown --etcd-passwd hunter2"],
    ["a user with a password", "--user root:hunter2"],
    ["a user with a password and =", "--user=root:hunter2"],
    ["a passphrase", "PASSPHRASE = hunter2"],
    ["a header", "Authorization: Bearer hunter2"],
    ["a URL", "cannot reach https://root:hunter2@etcd:2379/x"],
    ["a token", '{"msg":"bad","token":"hunter2"}'],
    ["a token as a flag", "--auth-token=hunter2"],
    ["a JSON web token", "cannot use eyJhbGciOiJSUzI1NiJ9.Zm9v-hunter2_x.Zm9vhunter2 here"],
    ["a JSON web token without a signature", "cannot use eyJhbGciOiJub25lIn0.Zm9vhunter2."],
    ["a SAS signature of Azure", "PUT https://a.blob.core.windows.net/c/b?sv=2024&sig=hunter2%3D failed"],
    ["a signature of S3", "GET https://s3/b?X-Amz-Signature=hunter2&X-Amz-Date=1 failed"],
    ["pwd", "dial: server=a;pwd=hunter2;"],
    ["pass", "pass: hunter2"],
    ["an API key", "api_key=hunter2 api-key: hunter2 apikey=hunter2"],
    ["a client secret", "client_secret=hunter2&x=1"],
    ["a client secret in JSON", '{"msg":"bad","client-secret":"hunter2"}'],
    ["an array of arguments", 'exec: ["etcdctl","--password","hunter2","get"]'],
    ["an array of arguments in JSON", JSON.stringify({ msg: '["--auth-token", "hunter2"]' })],
    ["an array of arguments with an escape", String.raw`["--password","a\"hunter2"]`],
    ["an access key", "AWS_SECRET_ACCESS_KEY=hunter2 secret-key=hunter2"],
  ])("%s", (_, text) => {
    for (const shown of [lastLine(text), oneLine(text)]) expect(shown ?? "").not.toMatch(/hunter2|Zm9v|SHORTLINE/);
  });

  test("nothing but the secret, so the text around it stays", () => {
    expect(lastLine('{"password":"hunter2","msg":"bad","error":"denied"}')).toBe("bad: denied");
    expect(oneLine(`cannot parse ${KEY} in file`)).toBe("cannot parse [removed] in file");
    expect(oneLine("cannot reach https://root:hunter2@etcd:2379/x")).toBe("cannot reach https://[removed]@etcd:2379/x");
    expect(oneLine("GET https://s3/b?X-Amz-Signature=hunter2&X-Amz-Date=1 failed")).toBe(
      "GET https://s3/b?X-Amz-Signature=[removed]&X-Amz-Date=1 failed",
    );
    expect(oneLine('exec: ["etcdctl","--password","hunter2","get"]')).toBe(
      'exec: ["etcdctl","--password","[removed]","get"]',
    );
    for (const text of [
      "health check passed: 3 members",
      'exec: ["etcdctl","--key","/etc/tls/tls.key"]',
      "mount /var/lib/kubelet/pods/0b1c2d3e-0b1c-0b1c-0b1c-0b1c2d3e4f50/volumes/kubernetes",
    ])
      expect(oneLine(text)).toBe(text);
    expect(oneLine("bad password=hunter2, sorry")).toBe("bad password=[removed]");
  });
});

test.each([
  ["letters", "a".repeat(1_000_000)],
  ["dashes", "-".repeat(1_000_000)],
  ["beginnings", "-----BEGIN ".repeat(100_000)],
  ["ends", "-----END ".repeat(100_000)],
  ["quotes", '"msg":"'.repeat(100_000)],
  ["passwords", "password".repeat(100_000)],
  ["tokens", "eyJ".repeat(300_000)],
  ["JWT prefixes with a dot", "eyJa.".repeat(200_000)],
  ["signatures", "&sig=".repeat(200_000)],
  ["arguments", '--password","'.repeat(80_000)],
  ["--key flags", "--key".repeat(200_000)],
  ["backslashes", `password="${"\\".repeat(1_000_000)}`],
  ["colons", `//${":".repeat(1_000_000)}`],
  ["brackets", "(".repeat(1_000_000)],
  ["spaces", " ".repeat(1_000_000)],
])("a long text of %s is cleaned within 50 ms", async (_, text) => {
  const ms = await cpuMsOf(() => {
    lastLine(text);
    oneLine(text);
  });
  expect(ms).toBeLessThan(50);
});
