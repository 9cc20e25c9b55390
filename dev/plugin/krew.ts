import { yamlOf } from "../../scripts/yaml.ts";

/** An archive for one platform. */
export interface KrewArchive {
  readonly os: string;
  readonly arch: string;
  readonly uri: string;
  /** Hash of the archive, in hexadecimal. */
  readonly sha256: string;
  /** File in the archive that is started. */
  readonly bin: string;
}

/**
 * Krew's manifest of the plugin `etcd`.
 * https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
export function krewManifest(version: string, homepage: string, archives: readonly KrewArchive[]): string {
  return yamlOf([
    {
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name: "etcd" },
      spec: {
        version: `v${version}`,
        homepage,
        shortDescription: "Look at etcd clusters and act on them",
        description:
          "Shows the etcd clusters of etcd-cluster-operator: their state on one screen, why it is so,\nand what an edit would cause. It acts on them with your own rights.\n",
        platforms: archives.map(({ os, arch, uri, sha256, bin }) => ({
          selector: { matchLabels: { os, arch } },
          uri,
          sha256,
          bin,
        })),
      },
    },
  ]);
}
