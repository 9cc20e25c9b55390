import { describe, expect, test } from "vitest";
import { bearerOf, mayDo } from "./access-review.ts";

const OPTIONS = { signal: new AbortController().signal };

/** An API server that gives this answer. */
function answering(body: unknown) {
  return { raw: () => Promise.resolve(typeof body === "string" ? body : JSON.stringify(body)) };
}

describe("the bearer of a token", () => {
  const user = { username: "system:serviceaccount:monitoring:prometheus", groups: ["system:authenticated"] };
  const ask = (status: object) => bearerOf(answering({ status }), "token", OPTIONS);

  test("is whom the API server says", async () => {
    expect(await ask({ authenticated: true, user })).toEqual(user);
  });

  test.each([
    ["is not known", { authenticated: false, user }],
    ["is not said to be known", { user }],
    ["is known in other words", { authenticated: "true", user }],
    ["has an empty name", { authenticated: true, user: { ...user, username: "" } }],
    ["has a name that is none", { authenticated: true, user: { username: 1 } }],
    ["has no name", { authenticated: true, user: {} }],
    ["is not told", { authenticated: true }],
  ])("is nobody when it %s", async (_, status) => {
    expect(await ask(status)).toBeUndefined();
  });
});

describe("a bearer may do what is asked", () => {
  const ask = (status: object) =>
    mayDo(answering({ status }), { username: "a" }, { path: "/metrics", verb: "get" }, OPTIONS);

  test.each([
    [{ allowed: true }, true],
    [{ allowed: false }, false],
    [{ allowed: "true" }, false],
    [{}, false],
  ])("%j: %s", async (status, may) => {
    expect(await ask(status)).toBe(may);
  });
});

test.each(["no JSON: secret", '"secret"', { status: null, spec: { token: "secret" } }, { spec: { token: "secret" } }])(
  "an answer without a status is none, and nothing of it is told (%j)",
  async (body) => {
    const thrown = await bearerOf(answering(body), "secret", OPTIONS).catch(String);
    expect(thrown).toContain("the answer is no TokenReview with a status");
    expect(thrown).not.toContain("secret");
  },
);
