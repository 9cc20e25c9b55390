import { execFile } from "node:child_process";
import { ensureComponents } from "#dev/components.ts";
import { silentStep } from "#dev/progress.ts";
import { goTypes, type OmitEmpty } from "./go-types.ts";

// Other people's programs in Go, as a program that reads lines: dev/go/typed-client.

/** Most bytes of the answers. A thousand clusters have 3 MB. */
const MAX_BYTES = 64 * 1024 ** 2;

/** A decoded and encoded object, or why it cannot be decoded. */
export type RoundTrip = { readonly object: unknown } | { readonly error: string };

/** Decodes objects into Go structs, strictly, and encodes them. Answers have the order of the objects. */
export async function roundTrips(objects: readonly object[], omitEmpty: OmitEmpty): Promise<readonly RoundTrip[]> {
  return (await answers("round-trip", [goTypes(omitEmpty), ...objects])) as readonly RoundTrip[];
}

/** Status by kstatus: https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus */
export interface Kstatus {
  readonly status: "Current" | "Failed" | "InProgress" | "NotFound" | "Terminating" | "Unknown";
  readonly message: string;
}

/** Status of objects as kstatus computes it. */
export async function kstatuses(objects: readonly object[]): Promise<readonly Kstatus[]> {
  return (await answers("kstatus", objects)) as readonly Kstatus[];
}

async function answers(reader: string, lines: readonly object[]): Promise<readonly unknown[]> {
  const { "typed-client": program } = await ensureComponents(["typed-client"], silentStep);
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(program, [reader], { maxBuffer: MAX_BYTES }, (error, out, errors) =>
      error === null ? resolve(out) : reject(new Error(`${error.message}\n${errors}`)),
    );
    child.stdin?.end(lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
  });
  return output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}
