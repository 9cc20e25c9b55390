import { setInterval } from "node:timers";
import { openStore } from "#objectstore/open.ts";
import type { Place } from "./contract.ts";

// A process started by memory.ts: the test runner's own memory is no measure.

const [placeText = "", mib = ""] = process.argv.slice(2);
const { location, ...rest } = JSON.parse(placeText) as Place;
const store = await openStore(location, rest);
const options = { signal: new AbortController().signal };

const PIECE = 32 * 1024;

/** Small pieces, each newly allocated, as from a network. */
async function* body(bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += PIECE) {
    if (at % (1024 * 1024) === 0) await new Promise((resolve) => setImmediate(resolve));
    yield Buffer.alloc(PIECE, at % 251);
  }
}

const rssMb = () => Math.round(process.memoryUsage.rss() / 1e6);

async function growthMb(work: () => Promise<void>): Promise<number> {
  const beforeMb = rssMb();
  let mostMb = beforeMb;
  const timer = setInterval(() => {
    mostMb = Math.max(mostMb, rssMb());
  }, 10);
  await work();
  clearInterval(timer);
  return mostMb - beforeMb;
}

async function keep(key: string, bytes: number): Promise<void> {
  await store.put(key, body(bytes), options);
}

async function read(key: string, bytes: number): Promise<void> {
  let got = 0;
  for await (const chunk of store.get(key, options)) got += chunk.length;
  if (got !== bytes) throw new Error(`${got} bytes of ${bytes} were read`);
}

await keep("small", PIECE);
await read("small", PIECE);
const baseMb = rssMb();
const bytes = Number(mib) * 1024 ** 2;
const putMb = await growthMb(() => keep("large", bytes));
const getMb = await growthMb(() => read("large", bytes));
await store.close();
console.log(JSON.stringify({ baseMb, putMb, getMb }));
process.exit(0);
