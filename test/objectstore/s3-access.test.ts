import { execFileSync } from "node:child_process";
import { mkdirSync, rmdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startForwardProxy } from "#kit/servers/forward-proxy.ts";
import { newServerTLS } from "#kit/servers/server-tls.ts";
import { credentialsDir, removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/servers/versitygw.ts";
import type { S3Location } from "#objectstore/location.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, never, openPlace, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

// Ways to authenticate that only S3 has, and the errors when that fails.

const OPTIONS = { signal: never };
const { id, secret } = S3_ACCESS;
const ACCESS = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret };

/** Puts a small object, reads it back and deletes it. */
async function keeps(location: S3Location, files: Readonly<Record<string, string>>): Promise<void> {
  const store = await openPlace({ location, credentialsDir: credentialsDir(files) }, BRISK);
  try {
    await store.put("a/b", bodyOf(Buffer.from("kept")), OPTIONS);
    expect((await read(store.get("a/b", OPTIONS))).toString()).toBe("kept");
    await store.delete("a/b", OPTIONS);
  } finally {
    await store.close();
  }
}

describe("S3 over HTTP", () => {
  let server: Versitygw;
  let location: S3Location;
  beforeAll(async () => {
    server = await startVersitygw({ virtualDomain: "store.test" });
    const endpoint = `http://127.0.0.1:${server.port}`;
    location = { store: "s3", bucket: server.bucket("backups"), endpoint, pathStyle: true };
  });
  afterAll(() => server.stop());

  test("the bucket is in the host name, or in the path with pathStyle; HTTP_PROXY and NO_PROXY are used", async () => {
    const { url, asked, stop } = await startForwardProxy();
    vi.stubEnv("HTTP_PROXY", url);
    vi.stubEnv("NO_PROXY", "127.0.0.1");
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await stop();
    });
    const host = `store.test:${server.port}`;
    await keeps(location, ACCESS);
    await keeps({ store: "s3", bucket: "backups", endpoint: `http://${host}`, region: "us-east-1" }, ACCESS);
    expect([...asked]).toEqual([`backups.${host}`]);
    await keeps({ ...location, endpoint: `http://${host}` }, ACCESS);
    expect([...asked]).toEqual([`backups.${host}`, host]);
  });

  test.each([
    ["an unknown key", { ...ACCESS, AWS_ACCESS_KEY_ID: "AKIAUNKNOWNUNKNOWN00" }, "WrongCredentials"],
    ["a wrong secret", { ...ACCESS, AWS_SECRET_ACCESS_KEY: `${secret}x` }, "WrongCredentials"],
    ["no secret", { AWS_ACCESS_KEY_ID: id }, "WrongCredentials"],
    ["an empty key", { ...ACCESS, AWS_ACCESS_KEY_ID: "\n" }, "WrongCredentials"],
  ])("%s is reported as WrongCredentials, for every call", async (_what, files, reason) => {
    const place = { location, credentialsDir: credentialsDir(files) };
    const call = async (name: "head" | "put" | "get" | "delete" | "list") => {
      const store = await openPlace(place, BRISK);
      if (name === "put") await store.put("a", bodyOf(bytesOf(1)), OPTIONS);
      if (name === "get") await read(store.get("a", OPTIONS));
      if (name === "head") await store.head("a", OPTIONS);
      if (name === "delete") await store.delete("a", OPTIONS);
      if (name === "list") for await (const _ of store.list("", OPTIONS)) break;
    };
    for (const name of ["head", "put", "get", "delete", "list"] as const) {
      expect([name, await refused(call(name))]).toEqual([name, reason]);
    }
  });

  test("a missing bucket is reported as NoSuchBucket, for every call", async () => {
    const nowhere = { ...location, bucket: "nowhere" };
    const store = await openPlace({ location: nowhere, credentialsDir: credentialsDir(ACCESS) }, BRISK);
    expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("NoSuchBucket");
    expect(await refused(read(store.get("a", OPTIONS)))).toBe("NoSuchBucket");
    expect(await refused(store.head("a", OPTIONS))).toBe("NoSuchBucket");
    expect(await refused(store.delete("a", OPTIONS))).toBe("NoSuchBucket");
    await store.close();
  });

  test("a key below an existing object is refused", async () => {
    const store = await openPlace({ location, credentialsDir: credentialsDir(ACCESS) }, BRISK);
    await store.put("file", bodyOf(bytesOf(1)), OPTIONS);
    await refused(store.put("file/below", bodyOf(bytesOf(1)), OPTIONS));
    await store.close();
  });
});

test("S3: a session token is sent, and its expiry is reported as WrongCredentials", async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(String(request.headers["x-amz-security-token"]));
    expect(String(request.headers.authorization)).toContain("x-amz-security-token");
    const body = "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>";
    response.writeHead(400, { "content-type": "application/xml" }).end(request.method === "HEAD" ? undefined : body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    const { port } = server.address() as { port: number };
    const endpoint = `http://127.0.0.1:${port}`;
    const location = { store: "s3", bucket: "backups", endpoint, pathStyle: true } as const;
    const credentials = credentialsDir({ ...ACCESS, AWS_SESSION_TOKEN: "session+token" });
    const store = await openPlace({ location, credentialsDir: credentials }, BRISK);
    expect(await refused(store.head("a", OPTIONS))).toBe("WrongCredentials");
    expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("WrongCredentials");
    expect(new Set(seen)).toEqual(new Set(["session+token"]));
    await store.close();
  } finally {
    server.close();
  }
});

describe("S3 over TLS", async () => {
  const [own, other] = await Promise.all([newServerTLS(), newServerTLS()]);
  let server: Versitygw;
  let location: S3Location;
  beforeAll(async () => {
    server = await startVersitygw({ tls: own });
    const endpoint = `https://localhost:${server.port}`;
    location = { store: "s3", bucket: server.bucket("backups"), endpoint, pathStyle: true };
  });
  afterAll(() => server.stop());

  test("a private CA in ca.crt is trusted", async () => {
    await keeps(location, { ...ACCESS, "ca.crt": own.ca });
  });

  test("requests pass through the proxy of HTTPS_PROXY with TLS to the server", async () => {
    const { url, asked, stop } = await startForwardProxy();
    vi.stubEnv("HTTPS_PROXY", url);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await stop();
    });
    await keeps(location, { ...ACCESS, "ca.crt": own.ca });
    expect([...asked]).toEqual([`localhost:${server.port}`]);
  });

  test.each([
    ["a certificate of a private CA without ca.crt", {}],
    ["a certificate of a CA that is not in ca.crt", { "ca.crt": other.ca }],
  ])("%s is reported as TLS without a retry", async (_what, files) => {
    expect(await refused(keeps(location, { ...ACCESS, ...files }))).toBe("TLS");
  });

  test("a certificate for a different name is reported as TLS", async () => {
    const elsewhere = { ...location, endpoint: `https://127.0.0.1:${server.port}` };
    expect(await refused(keeps(elsewhere, { ...ACCESS, "ca.crt": own.ca }))).toBe("TLS");
  });

  test("a server without TLS is reported as TLS", async () => {
    const plain = await startVersitygw();
    const place = { ...location, bucket: plain.bucket("backups"), endpoint: `https://127.0.0.1:${plain.port}` };
    expect(await refused(keeps(place, { ...ACCESS, "ca.crt": own.ca }))).toBe("TLS");
    await plain.stop();
  });
});

test("S3: a full disk is reported as NoSpace, and the object does not exist", async () => {
  const root = join(temporaryDir("full"), "disk");
  mkdirSync(root);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=12m", "etcd-cluster-operator-test", root]);
  let server: Versitygw | undefined;
  try {
    server = await startVersitygw({ root });
    const endpoint = `http://127.0.0.1:${server.port}`;
    const location = { store: "s3", bucket: server.bucket("backups"), endpoint, pathStyle: true } as const;
    const store = await openPlace({ location, credentialsDir: credentialsDir(ACCESS) }, BRISK);
    for (const size of [7 * MIB, 30 * MIB]) {
      if (size === 7 * MIB) await store.put("first", bodyOf(bytesOf(size)), OPTIONS);
      expect(await refused(store.put(`full/${size}`, bodyOf(bytesOf(size)), OPTIONS))).toBe("NoSpace");
      expect(await store.head(`full/${size}`, OPTIONS)).toBeUndefined();
    }
    await store.close();
  } finally {
    await server?.stop(); // also after a failure: umount of a running server would fail and hide the cause
    execFileSync("umount", [root]);
    rmdirSync(root);
  }
});
