import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { COMMANDS } from "./commands.ts";
import { completionScript, offersFor, SHELLS } from "./completion.ts";

const folder = mkdtempSync(join(tmpdir(), "completion-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NAMES = COMMANDS.map(({ name }) => name);

test.each([
  [[""], NAMES, undefined],
  [["sta"], NAMES, undefined],
  [["status", ""], [], "cluster"],
  [["-n", "shop", "status", ""], [], "cluster"],
  [["status", "a", ""], [], undefined],
  [["restart", "a", ""], [], "member"],
  [["binding", ""], [], "user"],
  [["report", ""], ["operator"], "cluster"],
  [["status", "a", "-o", ""], ["json", "yaml", "wide"], undefined],
  [["status", "--output=j"], ["--output=json", "--output=yaml", "--output=wide"], undefined],
  [["restore", "a", "--from", ""], [], "backup"],
  [["list", "-n", ""], [], "namespace"],
  [["list", "--context", ""], [], "context"],
  [["completion", ""], SHELLS, undefined],
  [["shell", "a", "--", ""], [], undefined],
])("the end of %j", (words, offered, names) => {
  expect(offersFor(words)).toEqual({ words: offered, names });
});

test("a half-typed flag is completed with the flags of its command", () => {
  expect(offersFor(["list", "--or"]).words).toEqual(expect.arrayContaining(["--orphans", "--namespace", "--watch"]));
  expect(offersFor(["status", "--or"]).words).not.toContain("--orphans");
});

test("bash completes by asking the plugin with the words up to the cursor", () => {
  const program = join(folder, "kubectl-etcd");
  writeFileSync(program, '#!/bin/sh\nprintf "%s\\n" "$#:$*" status start >&2\nprintf "status\\nstart\\nlist\\n"\n');
  chmodSync(program, 0o755);
  writeFileSync(join(folder, "script"), completionScript("bash"));
  const typed = `COMP_WORDS=(kubectl-etcd sta); COMP_CWORD=1; _kubectl_etcd; echo "\${COMPREPLY[*]}"`;
  const ended = spawnSync("bash", ["-c", `source ${join(folder, "script")}; ${typed}`], {
    encoding: "utf8",
    env: { PATH: `${folder}:${process.env.PATH}` },
  });
  expect(ended.stdout.trim().split(/\s+/)).toEqual(["status", "start"]);
});

test("kubectl's program ends with the directive that files are not completed", () => {
  expect(completionScript("kubectl").trimEnd()).toMatch(/^#!\/bin\/sh\n[\s\S]*\necho ":4"$/);
});
