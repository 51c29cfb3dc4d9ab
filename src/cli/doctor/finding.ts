/** The result of one check. */
export interface Finding {
  name: string;
  /** `warn`: it works, but not as well as it could; `fail`: it does not work. */
  state: 'ok' | 'warn' | 'fail';
  detail: string;
  /** What a human can do about it; set unless the state is `ok`. */
  remedy?: string;
}
