import { expect, test } from "vitest";
import { isKinds, needConsent, type Target, type Terminal, targetOf } from "./consent.ts";
import type { Kubectl } from "./kubectl.ts";

const PRODUCTION: Target = { context: "production", server: "https://api.example.com:6443" };
const KIND: Target = { context: "kind-test", server: "https://127.0.0.1:40001" };

/** A terminal with this answer; undefined: not interactive. */
function terminal(answer?: string): Terminal & { readonly questions: string[] } {
  const questions: string[] = [];
  return {
    questions,
    isInteractive: answer !== undefined,
    ask: (question) => {
      questions.push(question);
      return Promise.resolve(answer ?? "");
    },
  };
}

test.each(["y", "Y", "yes", " YES "])("consent: the answer %j counts as consent", async (answer) => {
  const asked = terminal(answer);
  await needConsent(PRODUCTION, false, asked);
  expect(asked.questions).toEqual([
    'The operator will be installed or upgraded in context "production", server https://api.example.com:6443. Go on? [y/N] ',
  ]);
});

test.each(["", "n", "no", "yess", "production"])(
  "consent: the answer %j counts as refusal, and nothing is changed",
  async (answer) => {
    await expect(needConsent(PRODUCTION, false, terminal(answer))).rejects.toThrow("Nothing was changed.");
  },
);

test("consent: without a terminal nothing is changed, unless --yes is given", async () => {
  await expect(needConsent(PRODUCTION, false, terminal())).rejects.toThrow(
    /context "production", server https:\/\/api.example.com:6443. Nothing was changed: give --yes/,
  );
  const asked = terminal("n");
  await needConsent(PRODUCTION, true, asked);
  expect(asked.questions).toEqual([]);
});

test("consent: a kind cluster on this machine needs no consent", async () => {
  await needConsent(KIND, false, terminal());
});

test.each<[Target, boolean]>([
  [KIND, true],
  [{ context: "kind-a", server: "https://localhost:6443" }, true],
  [{ context: "kind-a", server: "https://[::1]:6443" }, true],
  [{ context: "kind-a", server: "https://api.example.com" }, false],
  [{ context: "kind-a", server: "no URL" }, false],
  [{ context: "tunnel", server: "https://127.0.0.1:6443" }, false],
  [{ context: "mankind-a", server: "https://127.0.0.1:6443" }, false],
])("consent: %j counts as a kind cluster on this machine: %s", (target, is) => expect(isKinds(target)).toBe(is));

const reading = (view: object) => targetOf({ json: () => Promise.resolve(view) } as unknown as Kubectl);

test("consent: context and server come from the kubeconfig", async () => {
  const clusters = [{ name: "c", cluster: { server: PRODUCTION.server } }];
  expect(await reading({ "current-context": "production", clusters })).toEqual(PRODUCTION);
  await expect(reading({ "current-context": "production", clusters: null })).rejects.toThrow(/no current context/);
  await expect(reading({ clusters })).rejects.toThrow(/no current context/);
});
