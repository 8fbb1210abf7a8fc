package ask

// german is the lexicon in German, as operators mix it in. Umlauts are written
// out, as questions are before they are looked up.
const german = `
_: der das den dem des ein eine einen einer einem von vom fuer im auf am aus und ist sind war waren wird werden hat
_: haben hatte es sich bitte mir uns gib zeig zeige sag mal insgesamt gesamt gesamter gesamte gesamten gesamtes alle
_: aller alles allen wurde wurden zum zur beim mit denn eigentlich da hier dort ich wir dieser diese dieses jener jene
_: ihre ihr sein seine unser unsere unserer unseren bei ueber so genau nun also doch etwa ungefaehr circa ca kann
_: koennte koennen konnte gibt gab viel sollte moechte wissen liste auflisten aufschluesseln aufgeschluesselt
_: aufteilung
why: warum, wieso, weshalb, grund, grund fuer, begruendung, erklaere, erklaer, erklaerung, aus welchem grund
not: nicht, kein, keine, keinen
which: welche, welcher, welches, welchen, welchem, wer, wem
how: wie
many: wie viele, wieviele, anzahl, wie oft, die anzahl
long: wie lange
when: wann, um wie viel uhr, zu welcher zeit, uhrzeit
where: wo, wohin, an welchem standort, auf welchem standort, in welchem rechenzentrum, an welchem ort
where: auf welchem cluster
decision: entscheidung, welche entscheidung
place: ging, gegangen, landete, gelandet, bekam, bekommen, gewann, gewonnen, gewinnt, gewaehlt, ausgewaehlt, zugeteilt
place: vergeben, platziert, genommen, kam, kommt, zugewiesen, gekommen
run: lief, laeuft, laufen, gelaufen, ausgefuehrt, liefen
start: startete, gestartet, startet, starten, begann, beginnt, beginnen, losgegangen, start von
end: endete, beendet, fertig, endet, zu ende, ende
late: zu spaet, verspaetet, verspaetung, verspaetete, verspaeteten, frist verpasst, fristen verpasst, frist versaeumt
late: deadline verpasst, deadline gerissen, deadlines gerissen, ihre deadline verpasst, die deadline verpasst
late: puenktlich
defer: verschoben, aufgeschoben, verzoegert, zurueckgehalten, verzoegerung
wait: wartet, warten, gewartet, wartete, warteten, wartezeit, wartezeiten, warteschlange, in der warteschlange
queue: warteschlange bei, warteschlange in, schlange bei
bids: gebote, gebot, angebot, angebote, geboten, bot, bieten, bieter, die gebote, die angebote
unable: abgelehnt, lehnte ab, lehnten ab, konnte nicht, konnten nicht, ausgeschlossen
differ: unterschied, differenz, unterscheiden
if: was waere wenn, was waere, wenn, waere, haette, haetten, waeren, falls, angenommen
instead: statt, anstatt, stattdessen
elsewhere: anderswo, woanders, an einem anderen standort
immediately: sofort, gleich, umgehend, ohne warten
save: gespart, sparte, sparen, eingespart, gebracht, ersparnis, spart, gelohnt
carbonprice: co2-preis, co2 preis, co2-preis von, co2 preis von, bei einem co2-preis von, kohlenstoffpreis
tonne: pro tonne, je tonne
without: ohne, ausgefallen, ausfaellt, ausfallen, weg, ausfall von, fehlte, gefehlt
residency: datenresidenz, residenzregel, datenstandort
compare: vergleich, vergleiche, verglichen mit, besser als, gegenueber
carbon: co2-ausstoss, co2 ausstoss, ausstoss, emissionen, kohlendioxid, kohlenstoff, die emissionen, co2-emissionen
carbon: kilo co2, co2-fussabdruck, fussabdruck, klimabilanz
emit: ausgestossen, stoesst, emittiert, verursacht, emittierte, verursachte
energy: energie, strom, stromverbrauch, energieverbrauch, verbrauch, kilowattstunden, energiebedarf, strombedarf
cost: kosten, kostete, gekostet, kostet, stromkosten, energiekosten, ausgaben, stromrechnung, geld, ausgegeben, teuer
cost: die kosten, bezahlt
used: verbraucht, verbrauchte, verbrauchten, verwendet
most: am meisten, meiste, meisten, groesste, groessten, hoechste, hoechsten, schmutzigste, teuerste, teuersten
most: schlimmste, schlimmsten, laengste, laengsten
least: am wenigsten, wenigste, wenigsten, kleinste, kleinsten, niedrigste, niedrigsten, geringste, geringsten
greenest: am gruensten, gruenste, gruensten, gruenster, gruener, sauberste, saubersten, am saubersten, sauber, gruen
greenest: klimafreundlichste, am klimafreundlichsten
cheapest: am billigsten, am guenstigsten, billigste, billigsten, guenstigste, guenstigsten, guenstigster, guenstig
cheapest: billig, billiger, guenstiger
dirtiest: schmutzigster standort, schmutzigste, dreckigste, am schmutzigsten, am dreckigsten, dreckigster
jobs: auftraege, auftrag, die jobs, den jobs
sites: standort, standorte, standorten, standorts, rechenzentrum, rechenzentren, die standorte
tenants: mandant, mandanten, kunde, kunden, abteilung, abteilungen, die teams
intensity: co2-intensitaet, co2 intensitaet, intensitaet, wie sauber, wie gruen, wie sauber ist der strom
intensity: wie gruen ist der strom, wie schmutzig, wie dreckig, emissionsfaktor, gramm pro kwh
intensity: gramm pro kilowattstunde
price: strompreis, strompreise, preis, preise
average: durchschnittlich, durchschnittliche, durchschnittlicher, mittlere, mittleren, im mittel, im schnitt
average: durchschnitt, im durchschnitt, mittelwert
median: mediane
now: jetzt, gerade, aktuell, aktuelle, aktueller, momentan, derzeit, im moment, im augenblick
free: freie, freien, frei, platz, verfuegbar, verfuegbare, ungenutzt, ungenutzte
gpus: grafikkarten, karten, beschleuniger
largest: groesster, groesstes, groesster block
fit: passt, passen, passte, reinpassen, hineinpassen, unterbringen
power: leistung, leistungsaufnahme, zieht, watt, leistung von
report: gemeldet, meldete, zuletzt gemeldet, letzte meldung, gehoert von, lebenszeichen, letztes lebenszeichen
forecast: prognose, prognosen, vorhersage, vorhersagen, prognostiziert, vorhergesagt
error: fehler, genauigkeit, genau war, falsch, daneben, abweichung
next: naechsten, naechste, naechster, kommenden
best: beste, besten, bester, am besten, idealer zeitpunkt, bester zeitpunkt, soll, zeitpunkt
submit: abschicken, einreichen, losschicken
rules: regel, regeln, richtlinie, richtlinien, regeln gelten, gelten, gilt, in kraft
quota: kontingent, kontingente
fairshare: fairer anteil, anteil, anteile, gerecht, anteil von
priority: prioritaet, prioritaeten
preempt: verdraengt, unterbrochen
silent: stumm, geschwiegen, nicht geantwortet, nicht erreichbar, unerreichbar, antwortet nicht, antworten nicht
silent: schweigt, schwieg
stuck: haengt, haengen, festgefahren, haengt fest, haengengeblieben
history: verlauf, geschichte, verlauf von, passierte mit, geschah mit, ist mit
happened: passiert, passierte, geschah, geschehen, los
decide: entschieden, entscheidungen
advice: tipps, empfehlung, empfehlungen, schneller, frueher, aendern
ahead: vor mir
asked: eingereicht, abgeschickt, angekommen, ankommen
summary: zusammenfassung, ueberblick, uebersicht, kurzfassung
help: hilfe
unrecorded: wasser, baeume, baum, wetter, temperatur
beyond: naechstes jahr, naechsten monat, naechste woche, jahr, jahre
legislate: bevorzuge, vermeide, verbiete
act: stoppe, loesche, verschiebe, brich ab, starte neu
hinder: was haelt, was blockiert, was verhindert, woran haengt, woran liegt es dass, woran liegt
bysite: standortweise
byhour: stuendlich
`
