import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { sharedLibraries } from "./image.ts";
import { libraryLicenses, nodeLicense, packageLicenses } from "./licenses.ts";
import { isOnPath } from "./packages.ts";

const root = mkdtempSync(join(tmpdir(), "licenses-test-"));
afterAll(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

write("LICENSE", "Apache License");
write("node_modules/a/package.json", '{ "name": "a", "license": "MIT" }');
write("node_modules/a/LICENSE.md", "MIT of a");
write("node_modules/a/node_modules/@b/c/package.json", '{ "name": "@b/c", "license": "Apache-2.0" }');
write("node_modules/a/node_modules/@b/c/z.js", "// ours");
write("node_modules/a/node_modules/@b/c/lib/taken.js", "// Redistribution and use in source and binary forms, with or");
write("node_modules/@b/e/package.json", '{ "name": "@b/e", "license": "MIT" }');
write("dev/licenses/@b/e/LICENSE", "MIT of e");
write("node_modules/d/package.json", '{ "name": "d", "license": "ISC" }');

test("each bundled package is listed once with its licence, taken from its file, its sources or the Apache License", () => {
  const sources = [
    "src/bin/x.ts",
    "node_modules/a/x.js",
    "node_modules/a/y.js",
    "node_modules/a/node_modules/@b/c/z.js",
    "node_modules/a/node_modules/@b/c/lib/taken.js",
  ];
  expect(packageLicenses(root, sources).map(({ from, to }) => [to, readFileSync(from, "utf8")])).toEqual([
    ["/usr/share/licenses/etcd-cluster-operator/LICENSE", "Apache License"],
    ["/usr/share/licenses/a/LICENSE.md", "MIT of a"],
    ["/usr/share/licenses/@b/c/LICENSE", "Apache License"],
    ["/usr/share/licenses/@b/c/taken.js", "// Redistribution and use in source and binary forms, with or"],
  ]);
});

test("the licence of a package without a licence file is taken from dev/licenses", () => {
  const [, text] = packageLicenses(root, ["node_modules/@b/e/x.js"]);
  expect(text?.to).toBe("/usr/share/licenses/@b/e/LICENSE");
  expect(readFileSync(text?.from ?? "", "utf8")).toBe("MIT of e");
});

test("a package without a licence text is refused, unless it has the Apache License", () => {
  expect(() => packageLicenses(root, ["node_modules/d/x.js"])).toThrow(/^d is bundled and has no text .* ISC/);
});

test.skipIf(!isOnPath("dpkg-query"))(
  "shared libraries of the machine have their licences, and the common licences that these refer to",
  () => {
    const libraries = sharedLibraries(realpathSync(process.execPath));
    const texts = libraryLicenses(libraries).map(({ to }) => to);
    expect(texts).toContain("/usr/share/licenses/libc6/copyright");
    expect(texts).toContain("/usr/share/licenses/libstdc++6/copyright");
    expect(texts).toContain("/usr/share/common-licenses/GPL-3");
  },
);

test("the licence of Node is available", () => {
  expect(readFileSync(nodeLicense(realpathSync(process.execPath)).from, "utf8")).toContain("Node.js is licensed");
  expect(() => nodeLicense(join(root, "bin", "other", "node"))).toThrow(/LICENSE is missing/);
});
