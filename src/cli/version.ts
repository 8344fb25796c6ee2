import { createRequire } from 'node:module';

/** The version in `package.json`: its only home. */
export function shipperVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('../../package.json');
  return (manifest as { readonly version: string }).version;
}

/** How shipper names itself to the destinations. */
export function userAgent(): string {
  return `shipper/${shipperVersion()}`;
}
