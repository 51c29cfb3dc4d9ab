export interface Suite {
  name: string;
  seconds: number;
  long?: readonly string[];
  usual?: readonly string[];
}
export const root: string;
export const testFiles: readonly string[];
export const SUITES: readonly Suite[];
