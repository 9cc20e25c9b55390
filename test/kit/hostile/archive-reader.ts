import { compressed } from "#agent/archive/zstd.ts";
import { lineText } from "#agent/changes/line.ts";
import { linesOf } from "#agent/changes/read.ts";

// Reads an object of archived changes that decompresses to an enormous size, as a store may hold one, and prints the
// result.

const MIB = 1024 ** 2;
const OPENING = lineText({ format: "etcd changes 1", clusterID: "1", first: "0" });
/** 4 GiB after decompression. */
const TIMES = 4_096;

const FILLINGS: Readonly<Record<string, Buffer>> = {
  "one line": Buffer.alloc(MIB, "a"),
  lines: Buffer.from(lineText({ put: "YQ==", value: "A".repeat(60_000) }).repeat(17)),
  zeros: Buffer.alloc(MIB),
};

async function* bomb(filling: Buffer): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(OPENING);
  for (let n = 0; n < TIMES; n++) {
    yield filling;
    await new Promise((done) => setImmediate(done));
  }
}

const filling = FILLINGS[process.argv[2] ?? ""];
if (filling === undefined) throw new Error(`the argument must be one of ${Object.keys(FILLINGS).join(", ")}`);
const store = { get: () => compressed(bomb(filling)) };
try {
  for await (const _ of linesOf("x", { store, key: undefined, signal: new AbortController().signal }));
  console.log("it was read");
} catch (thrown) {
  console.log((thrown as Error).message);
}
