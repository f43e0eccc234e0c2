"""Weigh words by how common they are in what agents say, whatever the task.

Rows of the list: the share of its weight that a word keeps, then word stems. The share is 1 - 3 g,
at least 0.2; g is the share of sessions in which the model's text has the word, averaged over twelve
families of agents (220 sessions, unlabelled ones in the main, 2026-12; words of g >= 0.06).
"""

from __future__ import annotations

from collections.abc import Iterator

_STOP = """
a about above after again against all also am an and any are as at be because been before being
below between both but by can could d did do does doing don down during each few for from had
has have having he her here hers herself him himself his how i if in into is it its itself just
let ll m me more most my myself no nor not now of off on once only or other our ours ourselves
out over own re s same she should so some such t than that the their theirs them themselves then
there these they this those through to too under until up us very ve was we were what when where
which while who whom why will with would yes you your yours yourself yourselves please okay ok
sure one two first next new use used using get got make made see need needs want like know may
might must shall via etc within
"""
STOP_WORDS = frozenset(_STOP.split())
"""Words that carry nothing of their own."""

_COMMON = """
0.2 add already based call case chang check class code complet confirm correct correctly creat current
0.2 detail different directly doesn done else ensur error exist explor file find fix follow found
0.2 function further great handl help however id implement implementation includ instead issue line look
0.2 method modify name need number pass problem proce process provid python read relevant requir result
0.2 return run script search set sett since specific start step still structur successfully test today
0.2 try type understand updat user value verify work
0.3 added agent assistanc availabl behavior codebas currently data description edit expect free full
0.3 good hi information key list locat match option original output seem show status uses without write
0.4 access actual address allow apply approach better carefully caus comprehensiv contain content
0.4 context def directory exact exampl fail feel field flight focus format go identify import last
0.4 likely logic mention miss model necessary object part pattern perfect pr properly question relat
0.4 remov request resolv string submit task time version way
0.5 account actually adding affect another anyth appli assist back card clear command core date default
0.5 describ didn differenc due economy edge empty everyth excellent fixed gets happen init keep main
0.5 mean messag mode modul multipl order patch path plan ready referenc regex remain reproduc
0.5 reservation review runn says section self sourc suggest support take text total wait
0.6 accept across activ analyz app appear ask base basic block branch bug build business cancel cannot
0.6 clean comment consistent continu convert day defin delet detect dict differently django
0.6 documentation enabl environment even examin extract featur fine finish fixing generat git helper
0.6 human identifi insuranc investigat item json load maintain making markdown minimal none open
0.6 operation parameter passenger payment place point raise raw reach real receiv replac report
0.6 repository right schema sets setup signal similar simpl solution span str summariz summary think
0.6 three travel treat true trying usage valid well
0.7 accord action additional adjust alway api argument auto avoid becom begin believ best book break
0.7 broken cabin calculat captur cause claud commit compar compatibl complex configur confusion
0.7 constructor conversion cost cover custom databas debug design dev direct disabl display docs either
0.7 end especially execut execution fetch final fixe flag form formatt functionality futur gett give
0.7 given goes going header hmm hold improv input install instanc instruction interest interfac isn
0.7 later least left len level limit local log manually maybe member metadata modifi move navigat
0.7 network node non notic old overrid param passe pend per phone plann policy potential prefer
0.7 preferenc preserv prevent print project proper reason refund reset rest restor round rule save
0.7 second select semantic separat session shar simpler singl someth special specifically stop stor
0.7 switch syntax system table thank thing todo tool top trace track trie trip turn unfortunately unless
0.7 url validation variabl various welcom won workflow wrong yet
0.8 able ah airlin almost analysis apn append appropriat aren around attempt attribut automatically
0.8 background backward baggag bar body built cache caller cancell cancellation careful child cleanest
0.8 cli cmd color committ comparison compatibility completely component config configuration connect
0.8 connection consider consistency construction copy count creation credit days decid definition
0.8 deletion depend dependenci despit detection devic diagnostic diff differ doubl duplicat earlier
0.8 editor element entir entry erk event exactly except exclud exec explain extend failur fall false
0.8 filter fully gift gold gracefully guide hardcod hear hello hidden hub idea identical ignor impl
0.8 important incorrect index inherit initialization inlin insert integrat internal invalid involv
0.8 isinstanc known limitation link longer make mapp mark max minimum mismatch mixed mobil mod much
0.8 named nest never newlin note noth oh ones oops optional origin packag parallel pars parse perform
0.8 phase pictur plac position possibl possibly previous price probably profil progress prompt property
0.8 provider push pytz query range rather readm realiz recent recommend recursively regard releas renam
0.8 render reproduction requirement respect restart robust runner safe saved seeing send sense sequenc
0.8 servic shouldn side signatur simplest simplifi slash solve sorry specifi state store succe
0.8 systematically target templat though title toggl transfer transferr trigger troubleshoot tui unabl
0.8 undefin verification view visibl vs want warn whether whole
"""


def stem(word: str) -> str:
    """Return a word in lower case without its commonest English endings."""
    if len(word) < 5:
        return word
    if word[-1] == "s" and word[-2] not in "sui":
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word[:-1] if word[-1] == "e" and len(word) > 5 else word


def _rows() -> Iterator[tuple[str, float]]:
    for row in _COMMON.strip().split("\n"):
        share, *words = row.split()
        for word in words:
            yield word, float(share)


COMMON: dict[str, float] = dict(_rows())
"""Kept share of the weight of a common word, by stem."""
COMMONPLACE = frozenset(word for word, share in COMMON.items() if share <= 0.3)
"""Words so common that they are left out like stop words."""
