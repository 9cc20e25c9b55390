import { afterAll, describe, expect, test } from "vitest";
import { type AnsweringServer, type Reply, startAnsweringServer } from "#kit/servers/answering-server.ts";
import { AZURE_ACCESS } from "#kit/servers/azurite.ts";
import { credentialsDir, removeTemporaryDirs } from "#kit/servers/store-server.ts";
import { S3_ACCESS } from "#kit/servers/versitygw.ts";
import type { ObjectStore } from "#objectstore/store.ts";
import { BRISK, never, openPlace, type Place, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

// Refusals that the tests' real servers cannot give.

const OPTIONS = { signal: never };
const server = await startAnsweringServer(() => ({ status: 500 }));
afterAll(() => server.stop());
const endpoint = `http://127.0.0.1:${server.port}`;

const s3: Place = {
  location: { store: "s3", bucket: "backups", endpoint, pathStyle: true },
  credentialsDir: credentialsDir({ AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: S3_ACCESS.secret }),
};
const { account, key } = AZURE_ACCESS;
const azure: Place = {
  location: { store: "azure", account, container: "backups", endpoint: `${endpoint}/${account}` },
  credentialsDir: credentialsDir({ AZURE_STORAGE_KEY: key }),
};
const gcs: Place = { location: { store: "gcs", bucket: "backups", endpoint } };

const xml = (status: number, code: string, message: string, more = ""): Reply => ({
  status,
  headers: { "content-type": "application/xml", "x-ms-error-code": code },
  body: `<Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`,
});

const json = (status: number, reason: string, message: string): Reply => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ error: { code: status, message, errors: [{ reason, message }] } }),
});

/** Reason and message of a refused call. */
async function outcomeOf(
  place: Place,
  answer: AnsweringServer["answer"],
  call: (store: ObjectStore) => Promise<unknown>,
) {
  server.answer = answer;
  const store = await openPlace(place, BRISK);
  const before = server.received.length;
  const asked = call(store);
  const message = await asked.then(
    () => "answered",
    (thrown: Error) => thrown.message,
  );
  const reason = message === "answered" ? "answered" : await refused(asked);
  await store.close();
  return { reason, message, requests: server.received.length - before };
}

describe("a deletion that the store forbids is AccessDenied, with the store's words:", () => {
  test.each<[string, Place, Reply]>([
    ["Azure, an immutability policy", azure, xml(409, "BlobImmutableDueToPolicy", "It is immutable due to a policy.")],
    ["Azure, a legal hold", azure, xml(409, "BlobImmutableDueToLegalHold", "It is immutable due to a policy.")],
    ["Azure, a lease", azure, xml(412, "LeaseIdMissing", "It is immutable due to a policy.")],
    ["S3, object lock", s3, xml(403, "AccessDenied", "It is immutable due to a policy.")],
    ["S3, object lock of a server with its own code", s3, xml(400, "ObjectLocked", "It is immutable due to a policy.")],
    ["S3, object lock of MinIO", s3, xml(400, "InvalidRequest", "It is immutable due to a policy. WORM protected")],
    ["Google, a retention policy", gcs, json(403, "retentionPolicyNotMet", "It is immutable due to a policy.")],
    ["Google, a hold", gcs, json(403, "objectUnderActiveHold", "It is immutable due to a policy.")],
  ])("%s", async (_what, place, reply) => {
    const { reason, message, requests } = await outcomeOf(
      place,
      () => reply,
      (store) => store.delete("a", OPTIONS),
    );
    expect({ reason, requests }).toEqual({ reason: "AccessDenied", requests: 1 });
    expect(message).toMatch(/It is immutable due to a policy\./);
  });

  test("another invalid request of S3 stays InvalidLocation", async () => {
    const reply = xml(400, "InvalidRequest", "Missing required header for this request");
    const { reason } = await outcomeOf(
      s3,
      () => reply,
      (store) => store.delete("a", OPTIONS),
    );
    expect(reason).toBe("InvalidLocation");
  });
});

describe("a wrong clock of the node, at S3:", () => {
  const skewed = (more: string, headers: Readonly<Record<string, string>> = {}): Reply => {
    const reply = xml(403, "RequestTimeTooSkewed", "The difference is too large.", more);
    return { ...reply, headers: { ...reply.headers, ...headers } };
  };
  const times = (server: string) => `<RequestTime>20260101T120000Z</RequestTime><ServerTime>${server}</ServerTime>`;

  test.each([
    [
      "behind",
      times("2026-01-01T12:21:00Z"),
      /clock of the pod's node is wrong: it is 1260 s behind the store's clock/,
    ],
    [
      "ahead",
      times("2026-01-01T11:00:00Z"),
      /clock of the pod's node is wrong: it is 3600 s ahead of the store's clock/,
    ],
    ["unknown by how much", "<ServerTime>soon</ServerTime>", /clock of the pod's node is wrong\. Correct/],
  ])("%s is in the message", async (_what, more, says) => {
    const { reason, message } = await outcomeOf(
      s3,
      () => skewed(more),
      (store) => store.delete("a", OPTIONS),
    );
    expect(reason).toBe("WrongCredentials");
    expect(message).toMatch(says);
  });

  test("without times in the answer its Date header counts", async () => {
    const date = new Date(Date.now() + 1_800_000).toUTCString();
    const { message } = await outcomeOf(
      s3,
      () => skewed("", { date }),
      (store) => store.delete("a", OPTIONS),
    );
    expect(message).toMatch(/it is (1[78]\d\d|1800) s behind/);
  });

  test("the request is repeated with the store's time, and succeeds", async () => {
    const aheadMs = 7_200_000;
    const { reason, requests } = await outcomeOf(
      s3,
      ({ headers }) => {
        const now = new Date(Date.now() + aheadMs);
        const [, y, mo, d, h, mi, s] =
          /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(headers["x-amz-date"])) ?? [];
        const signed = Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
        if (Math.abs(signed - now.getTime()) < 900_000) return { status: 204, headers: { date: now.toUTCString() } };
        return skewed(`<ServerTime>${now.toISOString()}</ServerTime>`, { date: now.toUTCString() });
      },
      (store) => store.delete("a", OPTIONS),
    );
    expect({ reason, requests }).toEqual({ reason: "answered", requests: 2 });
  });
});
