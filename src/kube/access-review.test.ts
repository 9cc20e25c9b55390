import { describe, expect, test } from "vitest";
import { bearerOf, mayDo } from "./access-review.ts";

const OPTIONS = { signal: new AbortController().signal };

/** An API server that gives this answer. */
function answering(body: unknown) {
  return { raw: () => Promise.resolve(typeof body === "string" ? body : JSON.stringify(body)) };
}

describe("the user of a token, read with a TokenReview,", () => {
  const user = { username: "system:serviceaccount:monitoring:prometheus", groups: ["system:authenticated"] };
  const ask = (status: object) => bearerOf(answering({ status }), "token", OPTIONS);

  test("is the user in the API server's response", async () => {
    expect(await ask({ authenticated: true, user })).toEqual(user);
  });

  test.each([
    ["is not authenticated", { authenticated: false, user }],
    ["has no authentication result", { user }],
    ["has a result that is not a boolean", { authenticated: "true", user }],
    ["has an empty name", { authenticated: true, user: { ...user, username: "" } }],
    ["has a name that is not a string", { authenticated: true, user: { username: 1 } }],
    ["has no name", { authenticated: true, user: {} }],
    ["is not in the response", { authenticated: true }],
  ])("is undefined when it %s", async (_, status) => {
    expect(await ask(status)).toBeUndefined();
  });
});

describe("a SubjectAccessReview with status", () => {
  const ask = (status: object) =>
    mayDo(answering({ status }), { username: "a" }, { path: "/metrics", verb: "get" }, OPTIONS);

  test.each([
    [{ allowed: true }, true],
    [{ allowed: false }, false],
    [{ allowed: "true" }, false],
    [{}, false],
  ])("%j allows the access: %s", async (status, may) => {
    expect(await ask(status)).toBe(may);
  });
});

test.each(["no JSON: secret", '"secret"', { status: null, spec: { token: "secret" } }, { spec: { token: "secret" } }])(
  "a review without a status is an error, and its message contains nothing of the response (%j)",
  async (body) => {
    const thrown = await bearerOf(answering(body), "secret", OPTIONS).catch(String);
    expect(thrown).toContain("the answer is no TokenReview with a status");
    expect(thrown).not.toContain("secret");
  },
);
