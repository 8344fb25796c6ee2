/**
 * Sources with logic that need no test file of their own, each with the reason. Types alone need
 * none and are not listed.
 */
export const untested: Readonly<Record<string, string>> = {};
