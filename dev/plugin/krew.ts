import { yamlOf } from "../../scripts/yaml.ts";
import { PLATFORMS } from "./platforms.ts";

/** An archive for one platform. */
export interface KrewArchive {
  readonly os: string;
  readonly arch: string;
  /** Name of the archive's file. */
  readonly name: string;
  /** Hash of the archive, in hexadecimal. */
  readonly sha256: string;
  /** File in the archive that is started. */
  readonly bin: string;
}

interface KrewWish {
  readonly version: string;
  readonly homepage: string;
  /** Folder from which the archives will be downloaded. */
  readonly url?: string | undefined;
}

/**
 * Krew's manifest of the plugin `etcd`; undefined without a URL, or when a platform is missing: Krew could not install
 * what it names. https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
export function krewManifest(
  { version, homepage, url }: KrewWish,
  archives: readonly KrewArchive[],
): string | undefined {
  if (url === undefined || archives.length < PLATFORMS.length) return undefined;
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
        platforms: archives.map(({ os, arch, name, sha256, bin }) => ({
          selector: { matchLabels: { os, arch } },
          uri: `${url}/${name}`,
          sha256,
          bin,
        })),
      },
    },
  ]);
}
