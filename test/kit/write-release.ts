import { writeRelease } from "#kit/releases.ts";

// Run at a release, with its version as the argument: see releases.ts.

const [version = ""] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`the version is "${version}"; it must be such as 0.2.0`);
writeRelease(version);
