/** The style of every page: light or dark like the person's system, and readable on a narrow screen. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
--paper:#f6f7f9;--card:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--accent:#0b5cad;--good:#1a7f37;--bad:#b3261e;--warm:#9a6700;--code:#eef1f4;--alert:#fff8e1}
@media (prefers-color-scheme:dark){:root{--paper:#0f1318;--card:#171c23;--ink:#e6eaf0;--soft:#9aa5b1;--line:#2e3742;--accent:#79b8ff;--good:#56d364;--bad:#ff8a80;--warm:#e3b341;--code:#212832;--alert:#2b2410}}
*{box-sizing:border-box}
body{max-width:42rem;margin:0 auto;padding:2.5rem 1.25rem 4rem;background:var(--paper);color:var(--ink)}
body.wide{max-width:80rem;padding-top:1.5rem}
h1{font-size:1.35rem;line-height:1.3;margin:0 0 1rem}
h2{font-size:1.05rem;margin:0 0 .75rem}
h2:focus{outline:none}
a{color:var(--accent)}
code,pre{font:.85em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere;unicode-bidi:isolate}
bdi{overflow-wrap:anywhere}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.question{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;border:1px solid var(--line);border-radius:.5rem;background:var(--card)}
.note{color:var(--soft);font-size:.9rem}
.wrong{border-left:4px solid var(--bad);padding-left:.75rem}
label{display:block;margin:1rem 0 .25rem}
input[type=text]{font:inherit;width:100%;padding:.5rem;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:.4rem}
button,.button{font:inherit;display:inline-block;padding:.5rem 1.25rem;margin:1rem .75rem 0 0;border-radius:.4rem;border:1px solid var(--soft);background:var(--card);color:var(--ink);cursor:pointer;text-decoration:none}
button:hover,.button:hover{border-color:var(--ink)}
.go{background:#b3261e;border-color:#b3261e;color:#fff}
.small{margin:0;padding:.15rem .7rem;font-size:.85rem}
.stop{color:var(--bad);border-color:var(--bad)}
section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem 1.25rem;margin:0 0 1rem}
section.alert{background:var(--alert);border-color:var(--warm)}
ul.questions{list-style:none;margin:0;padding:0}
ul.questions li{display:flex;gap:1rem;align-items:flex-start;justify-content:space-between;flex-wrap:wrap;padding:.5rem 0}
ul.questions li+li{border-top:1px solid var(--line)}
ul.questions p{margin:0;flex:1 1 20rem;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
table+table,.scroll+.scroll{margin-top:1.25rem}
caption{text-align:left;color:var(--soft);padding-bottom:.35rem}
caption bdi{color:var(--ink);font-weight:600}
th,td{text-align:left;vertical-align:top;padding:.4rem 1rem .4rem 0;border-top:1px solid var(--line)}
thead th{border-top:0;color:var(--soft);font-weight:600;font-size:.8rem;white-space:nowrap}
tbody th{font-weight:500}
.n{text-align:right;white-space:nowrap;width:6rem;font-variant-numeric:tabular-nums}
.t{white-space:nowrap;color:var(--soft);width:6rem}
.w{white-space:nowrap}
.sql{width:45%;min-width:16rem}
details[open]>summary code{display:none}
summary{cursor:pointer;overflow-wrap:anywhere}
.more{margin-top:.6rem}section>.more{margin:0}.more>summary{color:var(--soft);font-size:.9rem}.more[open]>summary{margin-bottom:.6rem}
summary code{display:inline;white-space:normal}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--code);padding:.6rem .75rem;border-radius:.4rem;margin:.4rem 0 0;max-height:20rem;overflow:auto}
.tag{display:inline-block;padding:0 .5rem;border-radius:1rem;font-size:.8rem;border:1px solid currentColor;white-space:nowrap}
.ok{color:var(--good)}.bad{color:var(--bad)}.warm{color:var(--warm)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.75rem 1.5rem;margin:0}
dt{color:var(--soft);font-size:.8rem}
dd{margin:0;overflow-wrap:anywhere}
p.none{color:var(--soft);margin:0}
#trouble{border:1px solid var(--bad);border-left-width:6px;border-radius:.4rem;padding:.6rem 1rem;margin:0 0 1rem;background:var(--card)}
body.stale main{opacity:.55}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@media (max-width:40rem){
body.wide{padding:1rem .75rem 3rem}section{padding:.85rem .9rem}}
@media (prefers-reduced-motion:no-preference){body.stale main{transition:opacity .3s}}
`;
