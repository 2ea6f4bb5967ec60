#include "src/verify/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hccl::verify {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 520;
constexpr double kLeft = 80;
constexpr double kTop = 50;
constexpr double kPlotWidth = 600;
constexpr double kPlotHeight = 400;
const char* const kColours[] = {"#1b6ca8", "#c8553d", "#3a7d44", "#7d4e9e",
                                "#b58900", "#2aa198", "#6c5b4b", "#d33682"};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string head(const std::string& title, double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n",
      width, height, kLeft, escaped(title));
}

std::string text(double x, double y, const char* anchor, const std::string& what) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(what));
}

// One axis of decades.
struct Scale {
  double low;
  double high;
  double at(double value) const { return (std::log10(value) - low) / std::max(high - low, 1e-9); }
};

Scale decades(double least, double most) {
  const double low = std::floor(std::log10(least));
  return {low, std::max(std::ceil(std::log10(most)), low + 1)};
}

std::string grid(const Scale& x, const Scale& y) {
  std::string svg;
  for (double d = x.low; d <= x.high + 0.5; ++d) {
    const double px = kLeft + kPlotWidth * x.at(std::pow(10, d));
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" "
        "stroke=\"#ddd\"/>\n",
        px, kTop, kTop + kPlotHeight);
    svg += text(px, kTop + kPlotHeight + 18, "middle", fmt::format("1e{:.0f} B", d));
  }
  for (double d = y.low; d <= y.high + 0.5; ++d) {
    const double py = kTop + kPlotHeight * (1 - y.at(std::pow(10, d)));
    svg += fmt::format(
        "<line x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" "
        "stroke=\"#ddd\"/>\n",
        py, kLeft, kLeft + kPlotWidth);
    svg += text(kLeft - 6, py + 4, "end", fmt::format("1e{:.0f} s", d));
  }
  return svg;
}

}  // namespace

std::string timeChart(const std::string& title, const std::vector<Curve>& curves) {
  double leastX = 1e300, mostX = 1e-300, leastY = 1e300, mostY = 1e-300;
  for (const Curve& curve : curves) {
    for (const auto& [bytes, time] : curve.points) {
      leastX = std::min(leastX, bytes);
      mostX = std::max(mostX, bytes);
      leastY = std::min(leastY, time);
      mostY = std::max(mostY, time);
    }
  }
  std::string svg = head(title, kWidth, kHeight);
  if (leastX > mostX) return svg + "</svg>\n";
  const Scale x = decades(leastX, mostX);
  const Scale y = decades(leastY, mostY);
  svg += grid(x, y);
  for (size_t c = 0; c < curves.size(); ++c) {
    const char* colour = kColours[c % std::size(kColours)];
    std::string points;
    for (const auto& [bytes, time] : curves[c].points) {
      const double px = kLeft + kPlotWidth * x.at(bytes);
      const double py = kTop + kPlotHeight * (1 - y.at(time));
      points += fmt::format("{:.1f},{:.1f} ", px, py);
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", px, py,
                         colour);
    }
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                       points, colour);
    const double row = kTop + 16 + 18 * static_cast<double>(c);
    svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n",
                       kLeft + kPlotWidth + 16, row - 10, colour);
    svg += text(kLeft + kPlotWidth + 34, row, "start", curves[c].name);
  }
  return svg + "</svg>\n";
}

std::string timelineChart(const std::string& title, uint32_t ranks,
                          const std::vector<Span>& spans) {
  constexpr double kRow = 22;
  double end = 1e-12;
  for (const Span& span : spans) end = std::max(end, span.end);
  const double height = kTop + kRow * ranks + 50;
  std::string svg = head(title, kWidth, height);
  for (uint32_t r = 0; r < ranks; ++r) {
    svg += text(kLeft - 6, kTop + kRow * r + 14, "end", fmt::format("rank {}", r));
  }
  for (const Span& span : spans) {
    const double x = kLeft + (kWidth - kLeft - 20) * span.begin / end;
    const double width = (kWidth - kLeft - 20) * (span.end - span.begin) / end;
    const bool sends = span.kind == plan::StepKind::kPut;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\" "
        "fill-opacity=\"0.7\"><title>{} {} {:.3g}..{:.3g} us</title></rect>\n",
        x, kTop + kRow * span.rank + (sends ? 0 : kRow / 2), std::max(width, 0.5), kRow / 2 - 1,
        sends ? kColours[0] : kColours[1], plan::stepName(span.kind),
        sends ? fmt::format("to {}", span.peer) : std::string(), span.begin * 1e6, span.end * 1e6);
  }
  svg += text(kLeft, height - 16, "start",
              fmt::format("0 .. {:.3g} us; above: sending, below: combining", end * 1e6));
  return svg + "</svg>\n";
}

}  // namespace hccl::verify
