import { expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { inputOf } from "./arguments.ts";
import { type Context, writeValue } from "./context.ts";
import { INTERRUPTED, repeated } from "./watch.ts";

type Step = string | Error;

/** Runs a command with these results, and stops at its end. */
async function watched(steps: readonly Step[], isTerminal = false) {
  const stop = new AbortController();
  const [out, err]: [string[], string[]] = [[], []];
  let n = 0;
  const context = {
    signal: stop.signal,
    isTerminal,
    write: (text: string) => void out.push(text),
    warn: (text: string) => void err.push(text),
  } as unknown as Context;
  const run = (own: Context): Promise<number> => {
    const step = steps[n++];
    if (n >= steps.length) stop.abort();
    if (step instanceof Error) return Promise.reject(step);
    own.write(step ?? "");
    return Promise.resolve(1);
  };
  return { code: await repeated(run, context, 1), out, err };
}

const refused = new OperatorError("KubeUnavailable", "the API server does not answer");
const cancelled = new OperatorError("Cancelled", "cancelled");

test("a failed read is shown once, and the next one follows", async () => {
  expect(await watched(["a", refused, refused, "b"])).toEqual({
    code: 1,
    out: ["a", "\nb"],
    err: ["the API server does not answer\n"],
  });
  expect((await watched(["a", refused, "b"], true)).out[1]).toBe("\u001b[2J\u001b[Hathe API server does not answer\n");
});

test("the code is 3 as long as reads fail", async () => {
  expect((await watched(["a", refused, cancelled])).code).toBe(3);
});

test("Ctrl-C during a read ends with the last code, without a word", async () => {
  expect(await watched(["a", cancelled])).toEqual({ code: 1, out: ["a"], err: [] });
  expect(await watched([cancelled])).toEqual({ code: INTERRUPTED, out: [], err: [] });
});

test.each([new OperatorError("InvalidConfig", "no kubeconfig"), new TypeError("a defect")])(
  "%s ends it",
  async (error) => {
    await expect(watched([error, "a"])).rejects.toBe(error);
  },
);

test("with --watch each YAML is a document", async () => {
  const out: string[] = [];
  const input = inputOf(["list", "--watch", "-o", "yaml"]);
  await writeValue({ input, write: (text: string) => void out.push(text) } as unknown as Context, { a: 1 });
  expect(out).toEqual(["---\na: 1\n"]);
});
