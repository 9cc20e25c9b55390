import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { elfFile } from "#kit/elf-file.ts";
import { readElf } from "./elf.ts";
import { OWN_ARCHITECTURE } from "./image.ts";

const folder = mkdtempSync(join(tmpdir(), "elf-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(content: Buffer): string {
  writeFileSync(join(folder, "file"), content);
  return join(folder, "file");
}

test("a program for arm64 has its architecture, loader and libraries", () => {
  const path = file(elfFile(183, ["libm.so.6", "libc.so.6"], "/lib/ld-linux-aarch64.so.1"));
  expect(readElf(path)).toEqual({
    architecture: "arm64",
    interpreter: "/lib/ld-linux-aarch64.so.1",
    needed: ["libm.so.6", "libc.so.6"],
  });
});

test("a library has no loader", () => {
  expect(readElf(file(elfFile(62, [])))).toEqual({ architecture: "amd64", needed: [] });
});

test.runIf(process.platform === "linux")("the headers of the running Node are read", () => {
  const { architecture, interpreter, needed } = readElf(realpathSync(process.execPath));
  expect(architecture).toBe(OWN_ARCHITECTURE);
  expect(interpreter).toMatch(/ld-linux/);
  expect(needed).toContain("libc.so.6");
});

test.each([
  ["a script", Buffer.from("#!/bin/sh\n".padEnd(64))],
  ["an empty file", Buffer.alloc(0)],
  ["a program for another processor", elfFile(243, [])],
])("%s is refused", (_what, content) => {
  expect(() => readElf(file(content))).toThrow(/file is no ELF file for amd64 or arm64/);
});
