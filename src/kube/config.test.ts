import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { defaultConfig, inClusterConfig, kubeconfigFile } from "./config.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** A valid kubeconfig, except for the given part. */
function kubeconfig({ cluster = {}, user = {}, context = {}, top = {} }: Record<string, object> = {}): string {
  const document = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "main",
    contexts: [{ name: "main", context: { cluster: "c", user: "u", ...context } }],
    clusters: [{ name: "c", cluster: { server: "https://example.com:6443/", ...cluster } }],
    users: [{ name: "u", user: { token: "t", ...user } }],
    ...top,
  };
  return write("config", stringify(document));
}

describe("kubeconfigFile", () => {
  test("reads server, namespace and token", async () => {
    const config = await kubeconfigFile(kubeconfig({ context: { namespace: "team" } }));
    expect(config).toMatchObject({
      server: "https://example.com:6443",
      namespace: "team",
      origin: join(folder, "config"),
    });
    expect(await config.credentials(false)).toEqual({ token: "t", tls: { verify: true } });
  });

  test("reads certificates from inline data and from files next to it", async () => {
    write("client.pem", PEM);
    const user = { token: undefined, "client-certificate": "client.pem", "client-key-data": base64(PEM) };
    const cluster = { "certificate-authority-data": base64(PEM), "tls-server-name": "kubernetes" };
    const config = await kubeconfigFile(kubeconfig({ user, cluster }));
    expect(await config.credentials(false)).toEqual({
      tls: { verify: true, ca: PEM, cert: PEM, key: PEM, serverName: "kubernetes" },
    });
  });

  test("accepts insecure-skip-tls-verify and a server without TLS", async () => {
    const insecure = await kubeconfigFile(kubeconfig({ cluster: { "insecure-skip-tls-verify": true } }));
    expect((await insecure.credentials(false)).tls).toEqual({ verify: false });
    const plain = await kubeconfigFile(kubeconfig({ cluster: { server: "http://127.0.0.1:8001" } }));
    expect(plain.server).toBe("http://127.0.0.1:8001");
  });

  test("reads another context than the current one", async () => {
    const contexts = [{ name: "other", context: { cluster: "c", user: "u", namespace: "there" } }];
    const config = await kubeconfigFile(kubeconfig({ top: { contexts } }), "other");
    expect(config.namespace).toBe("there");
  });

  test("reads a token file again after a minute, or at once when the token was refused", async () => {
    const clock = new FakeClock();
    write("token", "first\n");
    const config = await kubeconfigFile(kubeconfig({ user: { tokenFile: "token" } }), undefined, clock);
    write("token", "second\n");
    const token = async (fresh: boolean) => (await config.credentials(fresh)).token;
    expect([await token(false), await token(true)]).toEqual(["first", "second"]);
    write("token", "third\n");
    await clock.advance(59_000);
    expect(await token(false)).toBe("second");
    await clock.advance(1_000);
    expect(await token(false)).toBe("third");
  });

  test("keeps the last token while the file cannot be read", async () => {
    const path = write("token", "first");
    const config = await kubeconfigFile(kubeconfig({ user: { tokenFile: "token" } }));
    rmSync(path);
    expect((await config.credentials(true)).token).toBe("first");
  });

  const wrong: { name: string; given: Record<string, object>; expect: RegExp }[] = [
    {
      name: "an unknown context",
      given: { top: { "current-context": "x" } },
      expect: /contexts has no entry named "x"/,
    },
    { name: "no context", given: { top: { "current-context": "" } }, expect: /current-context is not set/ },
    { name: "an unknown cluster", given: { context: { cluster: "x" } }, expect: /clusters has no entry named "x"/ },
    { name: "an unknown user", given: { context: { user: "x" } }, expect: /users has no entry named "x"/ },
    { name: "no server", given: { cluster: { server: "" } }, expect: /clusters\["c"\]\.cluster\.server is not set/ },
    {
      name: "a server that is not a URL",
      given: { cluster: { server: "example" } },
      expect: /server is example; it must be/,
    },
    {
      name: "a proxy",
      given: { cluster: { "proxy-url": "http://p" } },
      expect: /proxy-url is set; it is not supported: set HTTPS_PROXY/,
    },
    { name: "a password", given: { user: { password: "x" } }, expect: /password is set; basic authentication/ },
    { name: "impersonation", given: { user: { as: "x" } }, expect: /as is set; impersonation is not supported/ },
    {
      name: "a missing file",
      given: { user: { tokenFile: "none" } },
      expect: /tokenFile names a file that cannot be read/,
    },
    {
      name: "a certificate without key",
      given: { user: { "client-certificate-data": base64(PEM) } },
      expect: /client-key is not set/,
    },
    {
      name: "a key without certificate",
      given: { user: { "client-key-data": base64(PEM) } },
      expect: /client-certificate is not set/,
    },
    {
      name: "data that is not PEM",
      given: { cluster: { "certificate-authority-data": "eA==" } },
      expect: /certificate-authority-data holds no PEM/,
    },
    {
      name: "a token that is not a string",
      given: { user: { token: 4242 } },
      expect: /users\["u"\]\.user\.token is a number; it must be a string/,
    },
    { name: "a token that is a list", given: { user: { token: [4242] } }, expect: /token is a list; it must be/ },
    {
      name: "a token that is a mapping",
      given: { user: { token: { a: 4242 } } },
      expect: /token is a mapping; it must/,
    },
    {
      name: "skipping verification together with a CA",
      given: { cluster: { "insecure-skip-tls-verify": true, "certificate-authority-data": base64(PEM) } },
      expect: /one of them must go/,
    },
  ];
  for (const { name, given, expect: sentence } of wrong) {
    test(`refuses ${name}, with file and field in the message`, async () => {
      const path = kubeconfig(given);
      const failure = await kubeconfigFile(path).catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ code: "InvalidConfig", message: expect.stringMatching(sentence) });
      expect((failure as Error).message.startsWith(`${path}: `)).toBe(true);
      expect((failure as Error).message).not.toContain("4242");
    });
  }

  test.each([
    ["a duplicate key", "users: [{name: u, user: {token: secret-1, token: secret-1}}]"],
    ["an unterminated line", 'users:\n- user: {token: "secret-1'],
    ["an alias to nothing", "users: [{name: u, user: {token: *secret-1}}]"],
    ["an unknown tag", "users: [{name: u, user: {token: !secret secret-1}}]"],
  ])("%s is refused without the file's content in the message", async (_what, text) => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const failure = await kubeconfigFile(write("bad", text)).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "InvalidConfig" });
    expect(inspect(failure)).not.toContain("secret");
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  test("the message has the position of the YAML error", async () => {
    const path = write("bad", "a: 1\nusers: [");
    await expect(kubeconfigFile(path)).rejects.toThrow(`${path}: is not valid YAML at line 2, column`);
  });

  test.each(["exec", "auth-provider"])(
    "refuses auth plugin %s with advice when the package for it is missing",
    async (field) => {
      vi.doMock("@kubernetes/client-node", () => {
        throw new Error("Cannot find package '@kubernetes/client-node'");
      });
      const plugin = field === "exec" ? { command: "true" } : { name: "oidc" };
      const failure = await kubeconfigFile(kubeconfig({ user: { [field]: plugin } })).catch(
        (thrown: unknown) => thrown,
      );
      vi.doUnmock("@kubernetes/client-node");
      const advice = `user.${field} is set, which needs the npm package @kubernetes/client-node, and that is not installed`;
      expect(failure).toMatchObject({ code: "InvalidConfig", message: expect.stringContaining(advice) });
    },
  );

  for (const text of ["", "[]", "a: [", "just text"]) {
    test(`refuses a file that is not a kubeconfig: ${JSON.stringify(text)}`, async () => {
      await expect(kubeconfigFile(write("bad", text))).rejects.toMatchObject({ code: "InvalidConfig" });
    });
  }
});

describe("inClusterConfig", () => {
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };

  function serviceAccount(): void {
    write("token", "first\n");
    write("ca.crt", PEM);
    write("namespace", "operators");
  }

  test("reads the service account, and its token and CA again after a minute", async () => {
    const clock = new FakeClock();
    serviceAccount();
    const config = await inClusterConfig({ env, clock, serviceAccountDirectory: folder });
    expect(config).toMatchObject({ server: "https://[fd00::1]:443", namespace: "operators" });
    const before = await config.credentials(false);
    expect(before).toEqual({ token: "first", tls: { verify: true, ca: PEM.trim() } });
    write("token", "second\n");
    await clock.advance(60_000);
    const same = await config.credentials(false);
    expect(same.token).toBe("second");
    expect(same.tls).toBe(before.tls); // connections are kept
    write("ca.crt", `${PEM}${PEM}`);
    await clock.advance(60_000);
    expect((await config.credentials(false)).tls.ca).toBe(`${PEM}${PEM}`.trim());
  });

  test("reports each missing file or variable", async () => {
    await expect(inClusterConfig({ env: {}, serviceAccountDirectory: folder })).rejects.toMatchObject({
      code: "InvalidConfig",
      message: expect.stringContaining("KUBERNETES_SERVICE_HOST is not set"),
    });
    serviceAccount();
    write("token", "");
    await expect(inClusterConfig({ env, serviceAccountDirectory: folder })).rejects.toMatchObject({
      code: "InvalidConfig",
      message: expect.stringContaining(`${join(folder, "token")} is empty`),
    });
  });

  test("is used in a pod unless KUBECONFIG is set", async () => {
    serviceAccount();
    const pod = { ...env, HOME: folder };
    expect((await defaultConfig({ env: pod, serviceAccountDirectory: folder })).origin).toBe("service account");
    const named = { ...pod, KUBECONFIG: kubeconfig() };
    expect((await defaultConfig({ env: named, serviceAccountDirectory: folder })).origin).toBe(join(folder, "config"));
  });
});

test("defaultConfig reports where it looked when it finds no configuration", async () => {
  await expect(defaultConfig({ env: { HOME: folder } })).rejects.toMatchObject({
    code: "InvalidConfig",
    message: expect.stringContaining(join(folder, ".kube", "config")),
  });
  const both = `${kubeconfig()}:${write("second", "")}`;
  await expect(defaultConfig({ env: { KUBECONFIG: both } })).rejects.toThrow(
    /2 of these files exist; exactly one must/,
  );
});
